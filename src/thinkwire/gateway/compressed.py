"""Bodies that a client compressed. Routing and conversion look into them, so they are unpacked when they have come, and
never beyond what any body may have: a mebibyte can hold a gibibyte of zeros. Backends get them plain.
"""

from __future__ import annotations

import zlib

from thinkwire.faults import bad_request
from thinkwire.gateway.asking import Headers

CODING = b"content-encoding"
_KNOWN = (b"gzip", b"x-gzip", b"deflate")
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


def plain_body(body: bytes, headers: Headers, most: int) -> bytes:
    """The body itself. Raises `WireFault` for a coding that is not known here and for one that is not what it says."""
    codings = [value.strip().lower() for name, value in headers if name == CODING]
    if not codings or codings == [b"identity"]:
        return body
    if len(codings) > 1 or codings[0] not in _KNOWN:
        fault = bad_request("Content-Encoding: this gateway takes gzip, deflate or none", "unsupported")
        fault.status = 415
        raise fault
    unpacking = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        plain = unpacking.decompress(body, most + 1)
    except zlib.error:
        raise bad_request("the body is not what Content-Encoding says", "malformed") from None
    if len(plain) > most:
        raise bad_request(f"larger than {most} bytes, unpacked", "too_large")
    if not unpacking.eof or unpacking.unused_data:
        raise bad_request("the body is not what Content-Encoding says", "malformed")
    return plain
