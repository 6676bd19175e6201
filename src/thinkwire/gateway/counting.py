"""How many tokens a request may have, where nobody can be asked. An estimate, and always called one.

Four characters a token hold for English and code within a fifth; other scripts have fewer characters a token. Pictures
cost about what the providers charge for a large one. Seals are counted: the provider counts what stands behind them.
"""

from __future__ import annotations

from thinkwire.model import Block, Media, Opaque, Reasoning, Request, Text, Tool, ToolResult, ToolUse

_PER_TOKEN = 4.0
_PER_TOKEN_WIDE = 1.5  # characters beyond Latin
_MEDIA = 1500.0
_MESSAGE = 4.0
_TOOL = 12.0
_SEAL_PER_TOKEN = 5.0


_FIELDS = {"gemini": b"totalTokens", "bedrock": b"inputTokens"}


def write_count(wire: str, tokens: int) -> bytes:
    """The reply to a client that asked for a count."""
    return b'{"%b":%d}' % (_FIELDS.get(wire, b"input_tokens"), tokens)


def estimate_tokens(request: Request) -> int:
    """Never zero: clients take zero for "unknown" and stop counting."""
    total = sum(map(_block, request.system), 0.0)
    total += sum(map(_tool, request.tools), 0.0)
    total += sum((_MESSAGE + sum(map(_block, message.blocks), 0.0) for message in request.messages), 0.0)
    return max(1, round(total))


def _block(block: Block) -> float:
    if isinstance(block, Text):
        return _text(block.text)
    if isinstance(block, Reasoning):
        return _text(block.text) + (len(block.seal.data) / _SEAL_PER_TOKEN if block.seal is not None else 0)
    if isinstance(block, ToolUse):
        return _TOOL + _text(block.name) + _text(block.arguments)
    if isinstance(block, ToolResult):
        return _TOOL + sum(map(_block, block.content), 0.0)
    if isinstance(block, Media):
        return _MEDIA
    assert isinstance(block, Opaque)
    return len(bytes(block.raw)) / _PER_TOKEN


def _tool(tool: Tool) -> float:
    size = len(bytes(tool.schema)) if tool.schema is not None else 0
    if tool.extra is not None:
        size += sum(len(bytes(raw)) for raw in tool.extra.fields.values())
    return _TOOL + _text(tool.name) + _text(tool.description or "") + size / _PER_TOKEN


def _text(text: str) -> float:
    if text.isascii():
        return len(text) / _PER_TOKEN
    wide = sum(char > "\u024f" for char in text)
    return (len(text) - wide) / _PER_TOKEN + wide / _PER_TOKEN_WIDE
