"""`thinkwire convert`: bytes, notices and exit codes, live streams, broken pipes and Ctrl-C."""

from __future__ import annotations

import json
import os
import select
import signal
from pathlib import Path
from typing import IO

import pytest

import thinkwire
from thinkwire.cli import demo, main

CHAT_TO_ANTHROPIC = ("convert", "--from", "openai-chat", "--to", "anthropic")
CHUNKS = [b"".join(pieces) for _, pieces in demo.recorded()]
STREAM = b"".join(CHUNKS)
REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "<think>Greet back.</think>\n\n你好！"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
    },
    ensure_ascii=False,
).encode()
REQUEST = b'{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'


@pytest.fixture
def reply(tmp_path: Path) -> str:
    path = tmp_path / "reply.json"
    path.write_bytes(REPLY)
    return str(path)


@pytest.fixture
def stream(tmp_path: Path) -> str:
    path = tmp_path / "stream.sse"
    path.write_bytes(STREAM)
    return str(path)


def wait_for(out: IO[bytes], text: bytes) -> bytes:
    """What the process wrote up to and with `text`, which must come without more input."""
    seen = b""
    while text not in seen:
        assert select.select([out], [], [], 30)[0], f"only this came: {seen!r}"
        piece = os.read(out.fileno(), 65536)
        assert piece, f"it ended after: {seen!r}"
        seen += piece
    return seen


def test_a_reply_from_a_file(reply: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([*CHAT_TO_ANTHROPIC, reply]) == 0
    out, err = capfdbinary.readouterr()
    assert out == thinkwire.translate_reply(REPLY, source="openai-chat", target="anthropic").body
    assert [block["type"] for block in json.loads(out)["content"]] == ["thinking", "text"]
    assert err == b""


def test_the_name_of_the_model_to_show(reply: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([*CHAT_TO_ANTHROPIC, "--show-model", "house", reply]) == 0
    assert json.loads(capfdbinary.readouterr().out)["model"] == "house"


def test_a_request_from_stdin(start) -> None:
    process = start("convert", "--from", "anthropic", "--to", "openai-chat", "--request", "--model", "other")
    out, err = process.communicate(REQUEST, timeout=30)
    wanted = thinkwire.translate_request(REQUEST, source="anthropic", target="openai-chat", model="other")
    assert (process.returncode, out) == (0, wanted.body)
    assert json.loads(out)["model"] == "other"
    assert b"Traceback" not in err


def test_a_stream_from_a_file(stream: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([*CHAT_TO_ANTHROPIC, "--stream", stream]) == 0
    translator = thinkwire.StreamTranslator(source="openai-chat", target="anthropic")
    assert capfdbinary.readouterr().out == translator.feed(STREAM) + translator.finish()


def test_a_stream_is_converted_while_it_arrives(start) -> None:
    process = start(*CHAT_TO_ANTHROPIC, "--stream", "-")
    process.stdin.write(b"".join(CHUNKS[:10]))
    process.stdin.flush()
    assert b"thinking_delta" in wait_for(process.stdout, b"colleague")
    process.stdin.write(b"".join(CHUNKS[10:]))
    process.stdin.close()
    assert wait_for(process.stdout, b"message_stop")
    assert process.wait(30) == 0


def test_a_stream_that_is_cut_ends_as_an_error(start) -> None:
    process = start(*CHAT_TO_ANTHROPIC, "--stream")
    out, err = process.communicate(b"".join(CHUNKS[:10]), timeout=30)
    assert b"event: error" in out
    assert b"message_stop" not in out
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(b"error: ")


def test_ctrl_c_ends_the_stream_properly(start) -> None:
    process = start(*CHAT_TO_ANTHROPIC, "--stream")
    process.stdin.write(b"".join(CHUNKS[:10]))
    process.stdin.flush()
    wait_for(process.stdout, b"colleague")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert b"event: error" in out
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_ctrl_c_before_a_whole_reply_is_there(start) -> None:
    process = start(*CHAT_TO_ANTHROPIC)
    process.stdin.write(b" " * 1_000_000)  # more than a pipe holds: when this returns, the command is reading
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_nobody_reads_the_output(start) -> None:
    process = start(*CHAT_TO_ANTHROPIC, "--stream")
    process.stdout.close()
    process.stdin.write(STREAM)
    process.stdin.close()
    assert (process.wait(30), process.stderr.read()) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_the_disk_is_full(start, reply: str) -> None:
    with open("/dev/full", "wb") as full:
        process = start(*CHAT_TO_ANTHROPIC, reply, stdout=full)
        assert process.wait(30) == 1
    assert process.stderr.read() == b"error: input or output: No space left on device\n"


def test_a_malformed_reply(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<html>502 Bad Gateway</html>")
    assert main([*CHAT_TO_ANTHROPIC, str(path)]) == 1
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err.startswith(b"error: ")
    assert err.count(b"\n") == 1


def test_a_file_that_is_not_there(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = str(tmp_path / "absent.json")
    assert main([*CHAT_TO_ANTHROPIC, path]) == 1
    assert capfdbinary.readouterr().err == f"error: {path}: No such file or directory\n".encode()


def test_a_notice_is_one_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "reply.json"
    path.write_bytes(REPLY.replace(b"Greet back.", b""))
    assert main([*CHAT_TO_ANTHROPIC, str(path)]) == 0
    assert b"notice: empty_thought " in capfdbinary.readouterr().err


def test_a_marker_profile_that_does_not_exist(reply: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([*CHAT_TO_ANTHROPIC, "--markup", "nonsense", reply]) == 2
    assert b"nonsense" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "--from", "openai-chat"],
        ["convert", "--from", "telegraph", "--to", "anthropic"],
        [*CHAT_TO_ANTHROPIC, "--stream", "--request"],
        [*CHAT_TO_ANTHROPIC, "--request", "--tools"],
        [*CHAT_TO_ANTHROPIC, "--request", "--show-model", "m"],
        [*CHAT_TO_ANTHROPIC, "--request", "--markup", "think"],
    ],
)
def test_wrong_usage(arguments: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert b"usage: thinkwire convert" in capfdbinary.readouterr().err
