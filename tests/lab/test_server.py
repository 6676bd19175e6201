"""Starting, pace, and stopping while somebody still listens."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from tests.lab.talk import CHAT, Line, chat

from thinkwire.lab.server import listen, start, url_of


def test_pace_is_between_events(line: Line) -> None:
    size, pace = 6, 0.01
    began = time.monotonic()
    response = line.open(f"/reasoning,pace={pace},size={size}{CHAT}", chat(stream=True))
    response.read(1)
    first = time.monotonic() - began
    events = response.read().count(b"\n\n")
    assert first < 0.1
    assert time.monotonic() - began >= (events - 1) * pace


def test_the_first_byte_can_be_late(line: Line) -> None:
    began = time.monotonic()
    line.say(f"/reasoning,first=0.05{CHAT}", chat())
    assert time.monotonic() - began >= 0.05


def test_events_come_one_by_one(line: Line) -> None:
    response = line.open(f"/reasoning,pace=0.02{CHAT}", chat(stream=True))
    assert response.read1().count(b"\n\n") == 1
    line.connection.close()


def test_stop_does_not_wait_for_clients() -> None:
    lab = start()
    line = Line(lab.url)
    response = line.open(f"/think,fault=stall,after=1{CHAT}", chat(stream=True))
    response.read1()
    began = time.monotonic()
    lab.stop()
    assert time.monotonic() - began < 2
    line.connection.close()
    assert "thinkwire-lab" not in [thread.name for thread in threading.enumerate() if thread is lab._thread]
    with pytest.raises(ConnectionRefusedError):
        Line(lab.url).say("/")


def test_a_port_that_is_taken() -> None:
    with start() as lab, pytest.raises(OSError, match="in use"):
        start(port=int(lab.url.rpartition(":")[2]))


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:"), ("::1", "http://[::1]:")])
def test_urls(host: str, url: str) -> None:
    try:
        listening = listen(host, 0)
    except OSError:
        pytest.skip(f"no {host} here")
    assert isinstance(listening, socket.socket)
    assert url_of(listening).startswith(url)
    listening.close()
