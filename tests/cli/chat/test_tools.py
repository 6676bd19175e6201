"""The tools that come along do no harm, and the user's own are found."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkwire.cli.chat.desk_tools import BYTES, Desk
from thinkwire.cli.chat.tools import Tools, load_tools
from thinkwire.faults import Misuse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (inside / "link").symlink_to(tmp_path / "secret.txt")
    return inside


def test_files_below_the_folder(folder: Path) -> None:
    desk = Desk(folder)
    assert desk.read_file("a.txt") == "one\ntwo\n"
    assert desk.read_file("a.txt", 2) == "two\n"
    assert desk.list_folder().splitlines() == ["sub/", "a.txt  8", f"link  {(folder / 'link').lstat().st_size}"]
    assert desk.list_folder("sub") == "(empty)"


@pytest.mark.parametrize("path", ["../secret.txt", "link", "sub/../../secret.txt", "/etc/hostname", ".."])
def test_nothing_outside_of_it(folder: Path, path: str) -> None:
    with pytest.raises(ValueError, match="outside"):
        Desk(folder).read_file(path)
    with pytest.raises(ValueError, match="outside"):
        Desk(folder).list_folder(path)


def test_what_is_no_text_is_not_read(folder: Path) -> None:
    (folder / "raw").write_bytes(b"\0\1\2")
    os.mkfifo(folder / "pipe")
    for path, why in (("raw", "no text"), ("pipe", "no file"), ("sub", "no file"), ("none", "no file")):
        with pytest.raises(ValueError, match=why):
            Desk(folder).read_file(path)


def test_long_files_come_in_parts(folder: Path) -> None:
    (folder / "long").write_text("".join(f"{n}\n" for n in range(1000)), encoding="utf-8")
    read = Desk(folder).read_file("long", 3)
    assert read.startswith("2\n")
    assert read.endswith("(598 more lines; go on with first_line=403)")
    (folder / "wide").write_text("x" * 10 * BYTES, encoding="utf-8")
    assert len(Desk(folder).read_file("wide")) == BYTES


@pytest.mark.parametrize(
    ("expression", "value"),
    [("17 * 23", 391), ("(1 + 2) ** 3 / 9", 3), ("-7 // 2", -4), ("+7 % 4", 3), ("2 ** -1", 0.5), ("1e3 - 1", 999.0)],
)
def test_sums(expression: str, value: float) -> None:
    assert Desk(Path()).calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        *("9 ** 9 ** 9", "2 ** 10000", "10 ** 1000 * 10 ** 1000", "1 / 0", "(-8) ** 0.5", "1 if 1 else 2", "'a' * 3"),
        *(
            "__import__('os')",
            "x",
            "True",
            "1j",
            "1 +",
            "1" * 600,
            "-" * 400 + "1",
            "f(1)",
            "1 << 9",
            "",
            "1.5e308 * 10 ** 400",
        ),
    ],
)
def test_what_is_no_sum(expression: str) -> None:
    try:
        Desk(Path()).calculate(expression)
    except (ValueError, SyntaxError, ZeroDivisionError, OverflowError):
        return
    assert expression.startswith("-"), "only this one is a sum"


def test_the_time() -> None:
    assert "20" in Desk(Path()).current_time()


# ---- the user's own -------------------------------------------------------------------------------------------------

MODULE = """
from os.path import join

def look_up(word: str) -> str:
    return word

def calculate(expression: str) -> str:
    return "mine"

def _hidden() -> None: ...

class NoTool: ...
"""


def names(tools: list[Callable[..., Any]]) -> list[str]:
    return [tool.__name__ for tool in tools]


def test_functions_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own_tools.py"
    file.write_text(MODULE, encoding="utf-8")
    assert names(load_tools(str(file))) == ["look_up", "calculate"]
    assert names(load_tools(f"{file}:look_up")) == ["look_up"]
    assert names(load_tools("os.path:join")) == ["join"]
    for wrong, why in (
        (f"{file}:none", "no function none"),
        (f"{tmp_path}/none.py", "no such file"),
        ("no.such.module", "no such module"),
    ):
        with pytest.raises(Misuse, match=why):
            load_tools(wrong)


def test_who_asks(tmp_path: Path) -> None:
    file = tmp_path / "own_tools2.py"
    file.write_text(MODULE, encoding="utf-8")
    own = Tools([str(file), "desk"], tmp_path)
    assert own.names == ["look_up", "calculate", "read_file", "list_folder", "current_time"]
    assert own.asks("calculate"), "one of the user's own may do anything"
    assert not own.asks("current_time")
    own.allow("look_up")
    assert not own.asks("look_up")
    assert not Tools([], tmp_path, allow_all=True).asks("read_file")
    none = Tools([], tmp_path)
    assert none.names == []
    none.switch(True)
    assert "read_file" in none.names
    none.switch(False)
    assert none.names == []
