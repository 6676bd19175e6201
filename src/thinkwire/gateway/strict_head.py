"""What the head of a request must be like, beyond what the parser asks for. Everything else is `Refused`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import httptools

from thinkwire.gateway.asking import Headers

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_NOT_IN_A_HOST = frozenset(b' "/@\\,?#<>%\x7f') | frozenset(range(0x20)) | frozenset(range(0x80, 0x100))


class Refused(Exception):
    """The request is not one. The message is for the client."""


def check_first_line(data: bytes) -> None:
    """What the parser takes for a request line too, though it is none: empty lines, two blanks for one."""
    if data[:1] == b"\n":
        raise Refused("the line ends are not CRLF")
    if data[:2] == b"\r\n":  # one may be left over from the request before
        return
    end = data.find(b"\r\n")
    if end >= 0 and data.count(b" ", 0, end) != 2:
        raise Refused("the request line is not a method, a target and a version")


def check_framing(method: str, version: str, size: int, headers: Headers, most: int) -> None:
    """`size` is that of the target, `most` what the whole head may have."""
    if method not in METHODS:
        raise Refused("this method is not known here")
    hosts, lengths, encodings = [], [], []
    for name, value in headers:
        size += len(name) + len(value)
        if name == b"host":
            hosts.append(value)
        elif name == b"content-length":
            lengths.append(value)
        elif name == b"transfer-encoding":
            encodings.append(value)
    if size > most:
        raise Refused(f"the head is larger than {most} bytes")
    if version not in ("1.1", "1.0"):
        raise Refused("the version is neither HTTP/1.1 nor HTTP/1.0")
    if len(hosts) != 1 and (hosts or version == "1.1"):
        raise Refused("there must be one Host")
    if hosts and not _NOT_IN_A_HOST.isdisjoint(hosts[0]):
        raise Refused("the Host is not one")
    if len(lengths) > 1 or (lengths and not lengths[0].isdigit()):
        raise Refused("there must be one Content-Length, a number")
    if encodings and (len(encodings) > 1 or encodings[0].lower() != b"chunked"):
        raise Refused("the only Transfer-Encoding is chunked, once")
    if encodings and (lengths or version == "1.0"):
        raise Refused("Transfer-Encoding goes with neither Content-Length nor HTTP/1.0")


def read_target(url: bytes, headers: Headers) -> tuple[str, bytes]:
    """The path, as it is written, and the query."""
    path, query, host = _parts(url)
    if host is not None and (b"host", host) not in headers:
        raise Refused("the target names another host than Host does")
    return path, query


@lru_cache(maxsize=256)
def _parts(url: bytes) -> tuple[str, bytes, bytes | None]:
    """Path, query, and the host if the target is a whole URL."""
    target: Any = httptools.parse_url(url)  # its parts may be None, whatever its stubs say
    if not target.path or target.fragment is not None or target.userinfo is not None:
        raise Refused("the target has no path, or more than a path and a query")
    host = url.split(b"/", 3)[2] if target.host is not None else None
    return target.path.decode("ascii"), target.query or b"", host


def expects_continue(headers: Headers) -> bool:
    """Whether the client waits for a word before it sends the body."""
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in headers)
