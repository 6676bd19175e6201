"""Every bound on what a hostile peer controls, each with its precedent. Crossing one is a `Fault("limit", …)`.

All sizes are bytes or characters as named. Raising a bound is a decision of the operator; removing one is not possible.
"""

from __future__ import annotations

BODY = 32 * 1024 * 1024
"""A request or whole reply. The largest body the providers take themselves."""

JSON_DEPTH = 64
"""Nesting of any JSON document. simdjson stops at 1,024; no real payload seen goes past 32. Below the depth at which
a recursive decoder needs more stack than a 256 KiB thread has."""

EVENT = 4 * 1024 * 1024
"""One stream event, or one line of it. A signed reasoning block with its seal stays under 1 MiB."""

FRAME_HEADERS = 128 * 1024
"""The headers of one binary frame: botocore's own bound. Real ones have a hundred bytes."""

EVENTS = 2_000_000
"""Events in one stream. At the 64 MiB of reasoning allowed below this is one event per 32 bytes."""

STREAM = 256 * 1024 * 1024
"""All bytes of one stream."""

REASONING = 64 * 1024 * 1024
"""Reasoning text in one reply."""

BLOCKS = 4096
"""Blocks in one reply. A reply with a thousand tool rounds has about three thousand."""

SEAL = 4 * 1024 * 1024
"""One signature or encrypted item. Usual are hundreds to thousands of characters; encrypted items reach hundreds of
KiB, and never more than one event holds."""

TAG = 64 * 1024
"""One inline marker with attributes; longer is text, not a tag. A thought in an attribute is a paragraph."""

BLANKS = 64 * 1024
"""Blank space held back in front of a block or at the end of a tagged thought before it counts as content."""

HELD_CALLS = 4 * 1024 * 1024
"""Tool-call arguments held back while another call is still being written."""

ERROR_TEXT = 8 * 1024
"""What is kept of an upstream's error message (nginx keeps 4 KiB of a header, 8 KiB shows any JSON error seen)."""

INTEGER = 2**53 - 1
"""Any integer that is read: a larger one does not survive a JavaScript client or proxy (RFC 8259, section 6)."""

NOTICES = 1000
"""Notices kept of one conversion; the rest are counted in one last notice."""
