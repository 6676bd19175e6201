"""Tools that are of use without a network and do no harm: they read below one folder, tell the time, and count.

Nothing here writes, runs anything, or looks outside the folder that the chat was started in. What a tool raises is told
to the model, so the messages are for it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

LINES = 400
BYTES = 64 * 1024
ENTRIES = 300
_DIGITS = 1000
_LONG = 500


class Desk:
    """The tools, with the folder that they see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def tools(self) -> list[Callable[..., Any]]:
        return [self.read_file, self.list_folder, self.current_time, self.calculate]

    def read_file(self, path: str, first_line: int = 1) -> str:
        """Reads a text file below the current folder, up to 400 lines of it.

        Args:
            path: the file, relative to the current folder
            first_line: where to begin, from 1
        """
        file = self._inside(path)
        if not file.is_file():  # also a device, a pipe, …: reading one may never end
            raise ValueError(f"{path} is no file")
        with file.open("rb") as opened:
            data = opened.read(BYTES * 16 + 1)
        if b"\0" in data[:BYTES]:
            raise ValueError(f"{path} is no text")
        lines = data.decode("utf-8", "replace").splitlines(keepends=True)
        first = max(first_line, 1) - 1
        shown = "".join(lines[first : first + LINES])[:BYTES]
        left = len(lines) - first - LINES
        return f"{shown}\n({left} more lines; go on with first_line={first + LINES + 1})" if left > 0 else shown

    def list_folder(self, path: str = ".") -> str:
        """Lists a folder below the current one: folders with a slash, files with their size.

        Args:
            path: the folder, relative to the current one
        """
        folder = self._inside(path)
        if not folder.is_dir():
            raise ValueError(f"{path} is no folder")
        found = sorted(folder.iterdir(), key=lambda one: (not one.is_dir(), one.name))
        lines = [f"{one.name}/" if one.is_dir() else f"{one.name}  {one.lstat().st_size}" for one in found[:ENTRIES]]
        more = len(found) - ENTRIES
        return "\n".join([*lines, f"({more} more)"] if more > 0 else lines) or "(empty)"

    def current_time(self) -> str:
        """The date and time here, with the offset from UTC."""
        return datetime.now().astimezone().strftime("%A, %Y-%m-%d %H:%M:%S %z")

    def calculate(self, expression: str) -> Any:
        """Works out an arithmetic expression, such as (17 * 23) ** 2 / 4.

        Args:
            expression: numbers, brackets and + - * / // % **
        """
        if len(expression) > _LONG:
            raise ValueError("that is too long")
        return _value(ast.parse(expression.strip(), mode="eval").body)

    def _inside(self, path: str) -> Path:
        """Where that really is. Links that lead out do not count as inside."""
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder):
            raise ValueError(f"{path} is outside of the folder of this chat")
        return found


HARMLESS = ("current_time", "calculate")
"""Nobody needs to be asked for these."""

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left), _value(right)))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case _:
            raise ValueError("only numbers, brackets and + - * / // % ** are understood")


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > _DIGITS * 4:
        raise ValueError("the result is too large")
    found = base**exponent
    if isinstance(found, complex):
        raise ValueError("the result is not a real number")
    return found


def _bounded(number: Any) -> Any:
    if isinstance(number, int) and number.bit_length() > _DIGITS * 4:
        raise ValueError("the result is too large")
    return number
