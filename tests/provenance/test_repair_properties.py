"""What holds for every session: a second repair finds nothing, what was said stays in its order, chains stay whole, and
the thoughts that stay are an unbroken run of good ones."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.provenance.repairs import filled, joined, packed, repaired, seal

from thinkwire.provenance.carrier import PREFIX
from thinkwire.provenance.repair.call_ids import plain_id
from thinkwire.provenance.repair.transcripts import FORMATS

Json = dict[str, Any]

GOOD = st.sampled_from([seal(name) for name in "abcdefgh"])
BAD = st.sampled_from([None, "", " ", "sig", seal("x")[:61], "gAAAAABo", filled("<carrier>"), seal("shared")])
IDS = st.sampled_from([*(f"t{n}" for n in range(6)), packed("t0"), packed("t1"), plain_id(packed("t0"))])
TEXTS = st.sampled_from(["", " ", "Look.", "<thinking>no</thinking>", "\ud83d", "é\r\n\0", "a" * 50])
MODELS = st.sampled_from(["claude-opus-4-6", "claude-opus-4-6", "glm-4.7", "my-proxy", "<synthetic>"])

thoughts = st.one_of(
    st.builds(lambda text, sig: {"type": "thinking", "thinking": text, "signature": sig}, TEXTS, GOOD | GOOD | BAD),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, GOOD | BAD),
    st.just({"type": "thinking", "thinking": "no key"}),
    st.just({"type": "text", "text": "", "data": "x"}),
)
texts = st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
calls = st.builds(lambda id_: {"type": "tool_use", "id": id_, "name": "f", "input": {}}, IDS)
answers = st.builds(
    lambda id_, content: {"type": "tool_result", "tool_use_id": id_, "content": content},
    IDS,
    st.just("x") | st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=2),
)

assistants = st.tuples(st.just("assistant"), st.lists(thoughts | thoughts | texts | calls, max_size=4), MODELS)
users = st.tuples(st.just("user"), st.lists(answers | texts, max_size=3) | st.just("Go on."), st.none())
turns = st.lists(assistants | users, max_size=12)


def is_thought(block: Json) -> bool:
    return block["type"] in ("thinking", "redacted_thinking") or "data" in block


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    """A session with a block in each line, as Claude Code writes it, or several."""
    lines: list[Json] = []
    parent = None
    for at, (role, content, model) in enumerate(draw(turns)):
        split = role == "assistant" and len(content) > 1 and draw(st.booleans())
        for blocks in [[block] for block in content] if split else [content]:
            uuid = f"r{len(lines)}"
            message: Json = {"role": role, "content": blocks}
            message |= {"id": f"m{at}", "model": model} if role == "assistant" else {}
            side = draw(st.sampled_from([False, False, False, True]))
            record = {"parentUuid": parent, "isSidechain": side, "type": role, "message": message, "uuid": uuid}
            lines.append(record)
            parent = uuid
        if draw(st.integers(0, 9)) == 0:
            lines.append({"type": "summary", "summary": "…", "leafUuid": parent})
    return joined([json.dumps(line).encode() for line in lines])


def records(data: bytes) -> list[Json]:
    return [json.loads(line) for line in data.split(b"\n") if line]


def blocks_of(data: bytes) -> list[Json]:
    found = []
    for record in records(data):
        content = record.get("message", {}).get("content", [])
        found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def said(data: bytes) -> list[str]:
    """What a person sees of it; of calls and results only those that could be sent."""
    return [block["text"] for block in blocks_of(data) if block["type"] == "text" and block["text"]]


@given(sessions(), st.booleans(), st.booleans())
def test_sessions(data: bytes, everything: bool, close: bool) -> None:
    out, report = repaired(data, "claude-code", everything=everything, close=close)
    again, second = repaired(out, "claude-code", everything=everything, close=close)
    assert again == out
    assert second.changes == 0
    assert (out == data) is (report.changes == 0)
    assert said(out) == said(data)
    check_chain(data, out)
    check_lines(data, out)
    check_thoughts(out, everything)
    check_pairs(out, close)


def check_chain(data: bytes, out: bytes) -> None:
    """From each record the same ones are reached as before, without those that went."""
    before, after = (
        {record["uuid"]: record["parentUuid"] for record in records(lines) if "uuid" in record} for lines in (data, out)
    )
    for uuid, parent in after.items():
        assert parent is None or parent in after
        if uuid in before:
            old = [one for one in path(uuid, before) if one in after]
            assert [one for one in path(uuid, after) if one in before] == old
    for record in records(out):
        assert record.get("leafUuid") is None or record["leafUuid"] in after


def path(uuid: str | None, parents: dict[str, str | None]) -> list[str]:
    found = []
    while uuid is not None:
        found.append(uuid)
        uuid = parents[uuid]
    return found


def check_lines(data: bytes, out: bytes) -> None:
    """Lines keep their order, and one whose record did not change keeps its bytes."""
    before = {
        record.get("uuid"): (line, record) for line, record in zip(data.split(b"\n"), records(data), strict=False)
    }
    for line, record in zip(out.split(b"\n"), records(out), strict=False):
        old = before.get(record.get("uuid")) if "uuid" in record else None
        if old is not None and old[1] == record:
            assert line == old[0]
    order = [record["uuid"] for record in records(data) if "uuid" in record]
    kept = [record["uuid"] for record in records(out) if record.get("uuid") in order]
    assert kept == [uuid for uuid in order if uuid in set(kept)]


def check_thoughts(out: bytes, everything: bool) -> None:
    good = {seal(name) for name in "abcdefgh"} | {seal("shared")}
    messages: dict[tuple[bool, str], list[Json]] = {}
    for record in records(out):
        message = record.get("message", {})
        if record["type"] == "assistant" and isinstance(message["content"], list):
            messages.setdefault((record["isSidechain"], message["id"]), []).extend(message["content"])
        for block in message.get("content", []) if isinstance(message.get("content"), list) else []:
            if is_thought(block):
                assert not everything
                assert block.get("signature", block.get("data")) in good
                assert "thinking" in block or "data" in block
                assert message["model"] != "glm-4.7"
    for blocks in messages.values():
        assert blocks
        assert not is_thought(blocks[-1])


def check_pairs(out: bytes, close: bool) -> None:
    for side in (False, True):
        open_: list[str] = []
        for record in records(out):
            content = record.get("message", {}).get("content", [])
            for block in content if isinstance(content, list) and record.get("isSidechain") is side else []:
                if block["type"] == "tool_use":
                    open_.append(block["id"])
                elif block["type"] == "tool_result":
                    assert block["tool_use_id"] in open_
                    open_.remove(block["tool_use_id"])
        assert not (open_ and close)


# ---- lists of every wire --------------------------------------------------------------------------------------------

_CHAT_CALLS = [
    {"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for id_ in ("t0", "t1", "t2", "t3", packed("t0"), plain_id(packed("t0")))
]

ENTRIES: dict[str, Any] = {
    "anthropic": st.builds(
        lambda turn: {"role": turn[0], "content": turn[1]} | ({"model": turn[2]} if turn[2] else {}), assistants | users
    ),
    "openai-responses": st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
        st.builds(
            lambda id_, data: {"type": "reasoning", "id": id_, "encrypted_content": data}, st.none() | IDS, GOOD | BAD
        ),
        st.builds(lambda id_: {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": "f"}, IDS),
        st.builds(lambda id_: {"type": "custom_tool_call", "call_id": id_, "name": "f"}, IDS),
        st.builds(lambda id_: {"type": "function_call_output", "call_id": id_, "output": "x"}, IDS),
        st.builds(lambda text: {"type": "message", "id": "msg", "role": "assistant", "content": text}, TEXTS),
        st.just({"type": "web_search_call", "id": "ws_1"}),
    ),
    "openai-chat": st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
        st.builds(lambda id_: {"role": "tool", "tool_call_id": id_, "content": "x"}, IDS),
        st.builds(
            lambda text, thought, data, calls: {
                "role": "assistant",
                "content": text,
                "reasoning_content": thought,
                "reasoning_details": [{"type": "reasoning.encrypted", "data": one} for one in data],
                "tool_calls": calls,
            },
            TEXTS | st.none(),
            TEXTS,
            st.lists(GOOD | BAD, max_size=2),
            st.lists(st.sampled_from(_CHAT_CALLS), max_size=2),
        ),
    ),
    "gemini": st.builds(
        lambda role, parts: {"role": role, "parts": parts},
        st.sampled_from(["user", "model"]),
        st.lists(
            st.builds(
                lambda part, data: part | ({"thoughtSignature": data} if data != " " else {}),
                st.sampled_from(
                    [
                        {"text": "a"},
                        {"text": "t", "thought": True},
                        {"text": ""},
                        {"functionCall": {"name": "f"}},
                        {"functionCall": {"name": "g", "id": "1"}},
                        {"functionResponse": {"name": "f"}},
                        {"functionResponse": {"name": "g", "id": "1"}},
                    ]
                ),
                GOOD | BAD,
            ),
            max_size=4,
        ),
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
@given(st.data())
def test_lists(name: str, data: st.DataObject) -> None:
    entries = data.draw(st.lists(ENTRIES[name], max_size=8))
    options = {
        "target": data.draw(st.sampled_from(FORMATS[name].targets)),
        "everything": data.draw(st.booleans()),
        "close": data.draw(st.booleans()),
    }
    source = json.dumps(entries).encode()
    out, report = repaired(source, name, **options)
    again, second = repaired(out, name, **options)
    assert again == out
    assert second.changes == 0
    assert (out == source) is (report.changes == 0)
    assert spoken(json.loads(out)) == spoken(entries)


@given(st.lists(st.text(), unique=True), st.lists(st.text(), unique=True))
def test_ids_of_calls_are_valid_everywhere_and_stay_apart(some: list[str], others: list[str]) -> None:
    old = {PREFIX + id_ for id_ in (*some, *others)}
    new = {plain_id(id_) for id_ in old}
    assert len(new) == len(old)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,40}", id_) and not id_.startswith(PREFIX) for id_ in new)


def spoken(value: Any) -> list[str]:
    """All text that is shown, in its order."""
    if isinstance(value, list):
        return [text for one in value for text in spoken(one)]
    if not isinstance(value, dict) or value.get("thought") or value.get("role") == "tool":
        return []
    here = [text for name in ("text", "content") if isinstance(text := value.get(name), str) and text]
    nested = [value[name] for name in ("content", "parts") if isinstance(value.get(name), list)]
    return [] if value.get("type") in ("tool_result", "function_call_output") else here + spoken(nested)


# ---- a Claude that looks at the chain -------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(["good", "good", "good", "lost", "foreign", "interrupted", "carrier"]), max_size=10),
    st.sampled_from(["claude-code", "anthropic"]),
)
def test_what_stays_is_an_unbroken_run_of_what_claude_made(turns: list[str], name: str) -> None:
    """Each turn is a thought and an answer. Claude knows which of its own thoughts stood in front of each."""
    lines, made = [], []
    for at, kind in enumerate(turns):
        thought = {"type": "thinking", "thinking": f"{at}", "signature": seal(f"turn {at}")}
        if kind in ("good", "lost"):
            made.append(thought["signature"])
        thought |= {"lost": {"signature": ""}, "carrier": {"signature": filled("<carrier>")}}.get(kind, {})
        answer = [] if kind == "interrupted" else [{"type": "text", "text": "A"}]
        if kind == "interrupted":
            del thought["signature"]
        model = "kimi-k2" if kind == "foreign" else "claude-opus-5-5"
        messages = [
            {"role": "user", "content": f"Question {at}"},
            {"role": "assistant", "id": f"m{at}", "model": model, "content": [thought, *answer]},
        ]
        lines += [
            {"type": message["role"], "uuid": f"{at}{message['role']}", "message": message} for message in messages
        ]
    if name == "claude-code":
        out, _ = repaired(joined([json.dumps(line).encode() for line in lines]), name)
        messages = [record["message"] for record in records(out)]
    else:
        out, _ = repaired(json.dumps([line["message"] for line in lines]).encode(), name)
        messages = json.loads(out)
    blocks = [block for message in messages if message["role"] == "assistant" for block in message["content"]]
    kept = [block["signature"] for block in blocks if block["type"] == "thinking"]
    last_lost = max((at for at, kind in enumerate(turns) if kind == "lost"), default=-1)
    assert kept == [seal(f"turn {at}") for at, kind in enumerate(turns) if kind == "good" and at > last_lost]
    assert kept == made[len(made) - len(kept) :], "it is the end of what Claude made, without a hole"
