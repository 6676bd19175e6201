"""Reasoning in the history of a chat request: which of its many fields is read.

One thought may stand in several fields of a message at once; it is one thought. The most structured field is read, the
plain text beside it only for what the structure does not hold. In which words it came is kept beside it, so that it can
go back byte for byte as long as nobody changed it (`request_history`).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thinkwire.model import Block, Extra, Notices, Opaque, Reasoning, Seal
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.openai_chat.thoughts import CLAUDE
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]

PLAIN = ("reasoning_content", "reasoning", "thinking")
DETAILS = "reasoning_details"
BLOCKS = "thinking_blocks"
IN_CONTENT = "content"
LISTS = (DETAILS, BLOCKS)
SIGNATURE = "thinking_signature"
_EMPTY = msgspec.Raw(b"[]")

_encode = msgspec.json.Encoder().encode
_entries = msgspec.json.Decoder(list[msgspec.Raw])


# ---- reading --------------------------------------------------------------------------------------------------------


def read_thoughts(message: Fields, in_content: bool, notices: Notices) -> tuple[list[Block], dict[str, bytes]]:
    """The thoughts of an assistant message that do not stand in its content, and which fields they were in.

    With thoughts `in_content` those count, and text in other fields is their copy.
    """
    spelled = {name: b"[]" for name in LISTS if message.look_raw(name) == _EMPTY}  # DeepSeek by OpenRouter: a signal
    structured = [blocks for name in LISTS if (blocks := _READERS[name](message))]
    unstructured = _read_plain(message, spelled)
    if len(structured) > 1 or (in_content and (structured or unstructured)):
        notices.add("reasoning_duplicate", "messages[]")
    if in_content:
        return [], spelled
    return _woven(structured[0] if structured else [], unstructured, notices), spelled


def _woven(structured: list[Block], unstructured: list[Reasoning], notices: Notices) -> list[Block]:
    """Structured thoughts, and between them the text that only the plain field has (the thoughts without a seal)."""
    text = "".join(block.text for block in unstructured)
    if not structured or not text:
        return structured or list(unstructured)
    if not any(isinstance(block, Reasoning) and block.text for block in structured):
        return _attached([*unstructured, *structured])
    out: list[Block] = []
    rest = text
    for block in structured:
        if isinstance(block, Reasoning) and block.text:
            before, found, after = rest.partition(block.text)
            if not found:
                notices.add("reasoning_duplicate", "messages[]")
                return structured
            out += [Reasoning(before)] if before.strip() else []
            rest = after
        out.append(block)
    return out + ([Reasoning(rest)] if rest.strip() else [])


def _attached(blocks: list[Block]) -> list[Block]:
    """An encrypted entry is the proof of the thought in front of it, unless that has one (as in replies)."""
    out: list[Block] = []
    for block in blocks:
        last = out[-1] if out else None
        proof = isinstance(block, Reasoning) and block.seal is not None and block.seal.kind == "encrypted"
        if proof and isinstance(block, Reasoning) and isinstance(last, Reasoning) and last.seal is None:
            last.seal, last.extra = block.seal, _both(last.extra, block.extra)
        else:
            out.append(block)
    return out


def _both(first: Extra | None, second: Extra | None) -> Extra | None:
    """The entries of both, where the first came in entries too."""
    if first is None or second is None:
        return second
    return _kept_entries(*_entries.decode(first.fields[f"~{DETAILS}"]), *_entries.decode(second.fields[f"~{DETAILS}"]))


def _read_plain(message: Fields, spelled: dict[str, bytes]) -> list[Reasoning]:
    """The first plain field that says something; which ones were there is remembered for this wire."""
    found: list[Reasoning] = []
    for name in PLAIN:
        if name not in message:
            continue
        block = _read_value(message, name)
        spelled[name] = b"true" if block is not None else b'""'
        if block is not None and block.extra is not None:
            del spelled[name]
        if block is not None and not found:
            found.append(block)
    signature = message.text(SIGNATURE)
    if signature and not found:
        found.append(Reasoning(""))
    if signature and found[0].seal is None:
        found[0].seal = Seal("signature", signature, format=CLAUDE)
        found[0].extra = _kept(SIGNATURE, _encode(signature))
    return found


def _read_value(message: Fields, name: str) -> Reasoning | None:
    """A string; a list of text parts (Cerebras); an object with encrypted content (MAI-Thinking, 2026-10)."""
    first = message.first_byte(name)
    if first == b"[":
        text = "".join(part.text("text") or "" for part in message.objects(name))
        return Reasoning(text) if text.strip() else None
    if first != b"{":
        text = message.require(name)
        return Reasoning(text) if text.strip() else None
    raw = message.look_raw(name)
    value = message.object(name)
    if raw is None or value is None:
        return None
    return _read_object(value, raw, name)


def _read_object(value: Fields, raw: msgspec.Raw, name: str) -> Reasoning | None:
    said = value.text("content") or value.text("summary") or ""
    data = value.text("encrypted_content")
    if not said.strip() and not data:
        return None
    return Reasoning(said, Seal("encrypted", data) if data else None, extra=_kept(name, raw))


def _kept(name: str, raw: msgspec.Raw | bytes) -> Extra:
    """Where a thought stood, and in which words."""
    return Extra(WIRE, {f"~{name}": msgspec.Raw(bytes(raw))})


def _kept_entries(*raws: msgspec.Raw) -> Extra:
    return _kept(DETAILS, _encode(raws))


# ---- entries --------------------------------------------------------------------------------------------------------


def _read_details(message: Fields) -> list[Block]:
    entries: list[tuple[Fields, msgspec.Raw]] = []
    for item in message.objects(DETAILS):
        if entries and _continues(entries[-1][0], item):
            raw = _joined(entries.pop()[1], item.whole())
            entries.append((Fields.parse(raw, item.where), raw))
        else:
            entries.append((item, item.whole()))
    return _attached([block for item, raw in entries if (block := _detail(item, raw)) is not None])


def _continues(first: Fields, second: Fields) -> bool:
    """Whether two entries are fragments of one, as they come in a stream: some clients send them back unjoined, and
    the provider then takes neither."""
    index = second.look_raw("index")
    both = first.peek("type") == second.peek("type") == "reasoning.text" and "signature" not in first
    return both and index is not None and index == first.look_raw("index")


def _joined(first: msgspec.Raw, second: msgspec.Raw) -> msgspec.Raw:
    one, two = Fields.parse(first), Fields.parse(second)
    text = (one.text("text") or "") + (two.text("text") or "")
    return msgspec.Raw(_encode({**one.rest(), "text": text, **two.rest()}))


def _detail(item: Fields, raw: msgspec.Raw) -> Block | None:
    kind = item.require("type")
    form = item.text("format")
    item_id = item.text("id")
    match kind:
        case "reasoning.text" | "reasoning.summary":
            text = item.text("text" if kind == "reasoning.text" else "summary") or ""
            signature = item.text("signature")
            sealed = signature is not None and signature.strip() != ""
            seal = Seal("signature", signature or "", item_id=item_id, format=form) if sealed else None
            kept = _kept_entries(raw)
            return Reasoning(text, seal, item_id=item_id, extra=kept) if text.strip() or sealed else None
        case "reasoning.encrypted":
            data = item.text("data")
            redacted = (form or CLAUDE) == CLAUDE
            seal = Seal("redacted" if redacted else "encrypted", data or "", item_id=item_id, format=form or CLAUDE)
            return Reasoning("", seal, item_id=item_id, extra=_kept_entries(raw)) if data else None
        case _:
            return Opaque(WIRE, f"{DETAILS}:{kind}", raw)


def _read_blocks(message: Fields) -> list[Block]:
    """LiteLLM's `thinking_blocks`: Anthropic's blocks in a field of the message."""
    return [block for item in message.objects(BLOCKS) if (block := _thinking_block(item, item.whole())) is not None]


def _thinking_block(item: Fields, raw: msgspec.Raw) -> Block | None:
    kind = item.require("type")
    if kind == "redacted_thinking":
        data = item.text("data")
        return Reasoning("", Seal("redacted", data, format=CLAUDE), extra=_kept(BLOCKS, raw)) if data else None
    if kind != "thinking":
        return Opaque(WIRE, f"{BLOCKS}:{kind}", raw)
    text, signature = item.text("thinking") or "", item.text("signature")
    seal = Seal("signature", signature, format=CLAUDE) if signature and not signature.isspace() else None
    return Reasoning(text, seal, extra=_kept(BLOCKS, raw)) if seal is not None or text.strip() else None


def read_part(part: Fields) -> Reasoning | None:
    """A content part of type thinking (Mistral: a list of texts; its open library and SGLang: a string) or reasoning
    (SGLang)."""
    raw = part.whole()
    kind = part.require("type")
    if kind == "thinking" and part.first_byte("thinking") == b"[":
        text = "".join(piece.text("text") or "" for piece in part.objects("thinking"))
    else:
        text = part.text("thinking" if kind == "thinking" else "text") or ""
    signature = part.text("signature")
    seal = Seal("signature", signature, format="unknown") if signature else None
    return Reasoning(text, seal, extra=_kept(IN_CONTENT, raw)) if text.strip() or seal is not None else None


_READERS: dict[str, Callable[[Fields], list[Block]]] = {DETAILS: _read_details, BLOCKS: _read_blocks}


# ---- as they came ---------------------------------------------------------------------------------------------------


def spelling(block: Reasoning, losses: Losses) -> tuple[str, msgspec.Raw | None]:
    """The field that the thought came in and its words there, if they still say what the thought says."""
    for marked, raw in losses.own(block.extra, "messages[].content[]").items():
        name = marked.removeprefix("~")
        if _still_says(block, name, raw):
            return name, raw
    return "", None


def _still_says(block: Reasoning, name: str, raw: msgspec.Raw) -> bool:
    if name == SIGNATURE:
        return block.seal is not None and raw == msgspec.Raw(_encode(block.seal.data))
    again = _AGAIN[name](raw) if name in _AGAIN else None
    if not isinstance(again, Reasoning) or block.cut:
        return False
    beside = again.seal is not None and not again.text  # a proof whose text stands in a plain field
    return _proof(again.seal) == _proof(block.seal) and (beside or again.text == block.text)


def _proof(seal: Seal | None) -> tuple[str, str] | None:
    return None if seal is None else (seal.kind, seal.data)


def _details_again(raw: msgspec.Raw) -> Block | None:
    blocks = _attached(
        [block for item in _entries.decode(raw) if (block := _detail(Fields.parse(item), item)) is not None]
    )
    return blocks[0] if len(blocks) == 1 else None


_AGAIN: dict[str, Callable[[msgspec.Raw], Block | None]] = {
    DETAILS: _details_again,
    BLOCKS: lambda raw: _thinking_block(Fields.parse(raw), raw),
    IN_CONTENT: lambda raw: read_part(Fields.parse(raw)),
    "reasoning": lambda raw: _read_object(Fields.parse(raw), raw, "reasoning"),
}
