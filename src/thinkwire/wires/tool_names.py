"""Names of tools as servers write them."""

from __future__ import annotations

from thinkwire.model import Notices


def plain_name(name: str, notices: Notices) -> str:
    """The name without the channel markup that gpt-oss servers leave on it (vLLM #32587): `query<|channel|>commentary`
    is `query`."""
    plain, markup, _ = name.partition("<|")
    if markup and plain:
        notices.add("tool_name_repaired")
        return plain
    return name
