"""Sends an `Answer` over ASGI: the waiting, the client that goes away, and the connection that is not ended properly.

The only part of the lab that waits. Whatever it waits for, it also waits for the client to leave, so nothing goes on
for nobody.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from thinkwire.lab.answer import Answer, Signal
from thinkwire.lab.records import Record

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY = 32 * 1024 * 1024
"""Bytes of a request, at most."""


class Gone(Exception):
    """The client has left."""


class TooLarge(Exception):
    """The request is larger than `BODY`."""


async def read_body(receive: Receive) -> bytes:
    """Raises `Gone` or `TooLarge`."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY:
            raise TooLarge
        if not message.get("more_body", False):
            return b"".join(parts)


class Delivery:
    """One answer on its way to one client."""

    def __init__(self, receive: Receive, send: Send, record: Record) -> None:
        self._receive = receive
        self._send = send
        self._record = record

    async def deliver(self, answer: Answer, *, first: float, pace: float) -> None:
        """Returns when the answer is sent, was cut as it was meant to be, or nobody wants it any more."""
        leaving = asyncio.ensure_future(self._left())
        try:
            await _pause(leaving, first)
            await self._deliver(answer, pace, leaving)
        except Gone:
            self._record.ended = "client left"
        finally:
            leaving.cancel()

    async def _deliver(self, answer: Answer, pace: float, leaving: asyncio.Future[None]) -> None:
        if answer.status is None:
            await leaving
            raise Gone
        self._record.status = answer.status
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in answer.headers]
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
        waits = False
        for output in answer.body:
            if isinstance(output, Signal):
                await self._break_off(output, leaving)
                return
            if waits:
                await _pause(leaving, pace)
            await self._send({"type": "http.response.body", "body": output, "more_body": True})
            self._record.sent += len(output)
            waits = True
        self._record.ended = "sent"  # first: the client may ask for the record as soon as it has the end
        await self._send({"type": "http.response.body", "body": b""})

    async def _break_off(self, signal: Signal, leaving: asyncio.Future[None]) -> None:
        if signal is Signal.STALL:
            await leaving
            raise Gone
        self._record.ended = "cut"
        # ASGI has no word for what comes now, so uvicorn's own connection is taken in hand. Any other server closes by
        # itself when an application returns without having ended its answer.
        transport = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is not None:
            close(transport, reset=signal is Signal.RESET)
            await leaving

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def close(transport: asyncio.Transport, *, reset: bool) -> None:
    """Closes a connection as it is, after what was written; with `reset`, at once and without a farewell."""
    if not reset:
        transport.close()
        return
    number = transport.get_extra_info("socket").fileno()
    with socket.socket(fileno=os.dup(number)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _pause(leaving: asyncio.Future[None], seconds: float) -> None:
    """Raises `Gone` as soon as the client has left. Without seconds, others get their turn."""
    if seconds > 0:
        await asyncio.wait({leaving}, timeout=seconds)
    else:
        await asyncio.sleep(0)
    if leaving.done():
        raise Gone
