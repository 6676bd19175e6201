"""Responses replies, decoded: stream events and whole responses to canonical events.

An item is a block: a reasoning item with all its parts is one thought, because one proof seals it. What was said in
deltas is not said again by the `done` events and the final response, which repeat it; what only these say is taken from
them, whole items included, because servers leave out any of the three. The proof of a reasoning item is taken from the
finished item alone: the one in `added` may be incomplete. Items of kinds that are not known here are passed on whole.

Success is `response.completed` or `response.incomplete`, and nothing else. A stream may hold several responses, one
after the other (a server that runs tools itself): they are one reply, so the stream ends when it closes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, WireFault, bad_reply
from thinkwire.framing import guard
from thinkwire.model import (
    Alive,
    Closed,
    Event,
    Extra,
    Failed,
    Finished,
    Notices,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    Started,
    StopReason,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    UsageSeen,
)
from thinkwire.wires import openai_errors
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.created_at import known_time
from thinkwire.wires.framed_reply import SSEReplyDecoder
from thinkwire.wires.lenient import lenient, read_whole
from thinkwire.wires.openai_responses import schema
from thinkwire.wires.openai_responses.output_item import OutputItem
from thinkwire.wires.openai_responses.schema import FORM, RAW_TEXT, SEAL_FORMAT, SUMMARY, WIRE
from thinkwire.wires.tool_names import plain_name

BETWEEN_PARTS = "\n\n"
"""Stands between the parts of one reasoning item: each is a paragraph or more, often with a title."""

_event = msgspec.json.Decoder(schema.StreamEvent)
_item = msgspec.json.Decoder(schema.Item)
_response = msgspec.json.Decoder(schema.Response)
_encode = msgspec.json.Encoder().encode

_RAW_FORM = Extra(WIRE, {FORM: msgspec.Raw(_encode(RAW_TEXT))})
_PLAIN_DEPTH = 32  # fewer brackets than this cannot be too deep: no need to look closer


class ReplyDecoder(SSEReplyDecoder):
    """Bytes of a Responses event stream to events."""

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._items: dict[int | None, OutputItem] = {}  # by output index, the newest of each
        self._all: list[OutputItem] = []
        self._stored: set[str] = set()  # names of reasoning that only the server has
        self._id = ""
        self._started = False
        self._since = 0  # the first item of this response

    def read_frame(self, data: bytes) -> None:
        if data.startswith(b"[DONE]"):
            return
        if data.count(b"{") + data.count(b"[") > _PLAIN_DEPTH:
            guard.check_depth(data)
        try:
            event = _event.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            event = lenient(guard.decode_frame(data), schema.StreamEvent, self.notices)
            self.halves = self.halves or b"\\u" in data
        if self.complete and not self._next_response(event):
            return
        handle = _EVENTS.get(event.type)
        if handle is not None:
            handle(self, event)
        elif event.error is not None:
            self._error(event)
        else:
            self.out.append(Alive())

    # ---- the response --------------------------------------------------------------------------------------------

    def _next_response(self, event: schema.StreamEvent) -> bool:
        """Whether another response begins behind one that is complete. Anything else there is nothing."""
        if event.type != "response.created":
            return False
        self.complete = False
        self._since = len(self._all)
        self._items.clear()
        return True

    def _created(self, event: schema.StreamEvent) -> None:
        if not self._started and schema.is_object(event.response):
            self._start(self._read_response(event.response))

    def _start(self, response: schema.Response) -> None:
        self._started = True
        self._id = response.id
        self.out.append(Started(response.id, response.model, created=known_time(response.created_at)))

    def _read_response(self, raw: msgspec.Raw) -> schema.Response:
        try:
            return _response.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return lenient(guard.decode_frame(bytes(raw)), schema.Response, self.notices, "response")

    def _terminal(self, event: schema.StreamEvent) -> None:
        response = self._read_response(event.response) if schema.is_object(event.response) else schema.Response()
        if event.type == "response.incomplete":
            response.status = "incomplete"
        self.finish_response(response)

    def finish_response(self, response: schema.Response) -> None:
        """The response is complete: what its events did not say is said now."""
        if not self._started:
            self._start(response)
        self._rest(response.output or [])
        if response.usage is not None:
            self.out.append(UsageSeen(response.usage.canonical()))
        extra = schema.leftover(response)
        self.out.append(Finished(self._reason(response), extra=Extra(WIRE, extra) if extra else None))
        self.complete = True

    def _rest(self, output: list[msgspec.Raw]) -> None:
        """The items of the final response that no event finished. They are told apart by kind and order alone:
        servers give the same item another id here (2026-01)."""
        known: dict[str, list[OutputItem]] = {}
        for item in self._all[self._since :]:
            known.setdefault(item.kind, []).append(item)
        for raw in output:
            if not schema.is_object(raw):
                self.notices.add("bad_field", "output[]")
                continue
            final = self._read_item(raw)
            same = known.get(final.type)
            self._finish_item(same.pop(0) if same else self._add(final, None), final, raw)

    def _reason(self, response: schema.Response) -> StopReason:
        if response.status != "incomplete":
            return "end_turn"
        details = response.incomplete_details
        word = (details.reason if details is not None else None) or "max_output_tokens"
        known = schema.INCOMPLETE.get(word)
        if known is None or known == "pause_turn":
            self.notices.add("converted", "incomplete_details.reason", word[:40])
        return known or "max_tokens"

    def _failed(self, event: schema.StreamEvent) -> None:
        response = self._read_response(event.response) if schema.is_object(event.response) else schema.Response()
        self.fail(openai_errors.fault(response.error))

    def _error(self, event: schema.StreamEvent) -> None:
        self.fail(openai_errors.fault(event.error or openai_errors.ErrorBody(event.message, code=event.code)))

    def _cancelled(self, _event: schema.StreamEvent) -> None:
        self.fail(Fault("cut", "the response was cancelled"))

    # ---- items ---------------------------------------------------------------------------------------------------

    def _read_item(self, raw: msgspec.Raw) -> schema.Item:
        try:
            return _item.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return lenient(guard.decode_frame(bytes(raw)), schema.Item, self.notices, "item")

    def _add(self, item: schema.Item, index: int | None) -> OutputItem:
        if len(self._all) > limits.BLOCKS:
            raise WireFault("limit", f"more than {limits.BLOCKS} items")
        made = OutputItem(len(self._all), item.type, item.id, item.phase)
        self._all.append(made)
        self._items[index] = made
        return made

    def _item_added(self, event: schema.StreamEvent) -> None:
        if not schema.is_object(event.item):
            return
        item = self._read_item(event.item)
        made = self._add(item, event.output_index)
        if item.type in _CALLS and item.name:
            self._open_call(made, item)

    def _item_done(self, event: schema.StreamEvent) -> None:
        if not schema.is_object(event.item):
            return
        item = self._read_item(event.item)
        made = self._items.get(event.output_index)
        if made is None or made.over or made.kind != item.type:
            made = self._add(item, event.output_index)
        self._finish_item(made, item, event.item)

    def _implied(self, event: schema.StreamEvent, kind: str) -> OutputItem | None:
        """The item that a delta belongs to. One that nobody announced is announced by it, but for calls, whose names
        come with the finished item."""
        item = self._items.get(event.output_index)
        if item is None or item.over:
            item = self._add(schema.Item(kind, event.item_id), event.output_index)
        return item if item.kind == kind else None

    def _finish_item(self, item: OutputItem, final: schema.Item, raw: msgspec.Raw) -> None:
        if item.over:
            return
        item.over = True
        finish = _FINISH.get(final.type)
        if finish is not None:
            finish(self, item, final, raw)
        else:
            self._pass_on(item, final, raw)

    def _pass_on(self, _item_: OutputItem, final: schema.Item, raw: msgspec.Raw) -> None:
        if not final.type:
            self.notices.add("bad_field", "item.type", "an item without a type")
            return
        data, replaced = guard.mend(bytes(raw))
        if replaced:
            self.notices.add("surrogate_replaced")
        self.out.append(OpaqueSeen(WIRE, final.type, msgspec.Raw(data)))

    # ---- reasoning -----------------------------------------------------------------------------------------------

    def _summary(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "reasoning")
        if item is not None:
            self._thought(item, SUMMARY, event.summary_index, event.delta or "")

    def _raw_text(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "reasoning")
        if item is not None:
            self._thought(item, RAW_TEXT, event.content_index, event.delta or "")

    def _thought(self, item: OutputItem, form: str, part: int, text: str) -> None:
        if not text:
            return
        if form != item.form and item.form:
            self.notices.add("reasoning_duplicate", "", form)  # the thought and its summary: the first is kept
            return
        if part != item.part:
            self._next_part(item, form, part)
        item.said.add(text)
        self.out.append(ThoughtDelta(text, item.place))

    def _next_part(self, item: OutputItem, form: str, part: int) -> None:
        if item.opened:
            self.out.append(ThoughtDelta(BETWEEN_PARTS, item.place))
        else:
            item.opened = True
            item.form = form
            self.out.append(Opened("thought", item.place, item.id, _RAW_FORM if form == RAW_TEXT else None))
        item.next_part(part)

    def _summary_done(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "reasoning")
        if item is not None and item.form in ("", SUMMARY):
            self._thought(item, SUMMARY, event.summary_index, item.rest(event.summary_index, event.text))

    def _raw_text_done(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "reasoning")
        if item is not None and item.form in ("", RAW_TEXT):
            self._thought(item, RAW_TEXT, event.content_index, item.rest(event.content_index, event.text))

    def _finish_reasoning(self, item: OutputItem, final: schema.Item, _raw: msgspec.Raw) -> None:
        content = [part for part in final.parts() if part.type == RAW_TEXT]
        form = item.form or (RAW_TEXT if any(part.text for part in content) else SUMMARY)
        for index, part in enumerate(content if form == RAW_TEXT else final.summary or []):
            self._thought(item, form, index, item.rest(index, part.text))
        if final.encrypted_content:
            if not item.opened:
                self.out.append(Opened("thought", item.place, item.id or final.id))
            seal = Seal("encrypted", final.encrypted_content, item_id=final.id or item.id, format=SEAL_FORMAT)
            self.out.append(Sealed(seal, item.place, whole=True))
        elif not item.opened:
            if final.id and final.id not in self._stored:  # only a name of something that the server has stored
                self._stored.add(final.id)
                name = {"id": final.id, "type": "reasoning", "summary": []}
                self.out.append(OpaqueSeen(WIRE, "reasoning", msgspec.Raw(_encode(name))))
            return
        self.out.append(Closed(item.place))

    # ---- messages ------------------------------------------------------------------------------------------------

    def _text(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "message")
        if item is not None and event.delta:
            self._say(item, event.content_index, event.delta)

    def _refusal(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "message")
        if item is not None and event.delta:
            self._say(item, event.content_index, event.delta, refusal=True)

    def _say(self, item: OutputItem, part: int, text: str, refusal: bool = False) -> None:
        if part != item.part:
            self._open_text(item, part)
        item.said.add(text)
        self.out.append(TextDelta(text, item.key(part), refusal))

    def _open_text(self, item: OutputItem, part: int) -> None:
        """The text of a part begins; the phase is said with each of them."""
        key = item.key(part)
        item.next_part(part)
        self.out.append(Opened("text", key, item.id))
        if item.phase:
            self.out.append(OpaqueDelta(WIRE, "phase", msgspec.Raw(_encode(item.phase)), key))

    def _text_done(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "message")
        refusal = event.type == "response.refusal.done"
        part = event.content_index
        if item is not None and (text := item.rest(part, event.refusal if refusal else event.text)):
            self._say(item, part, text, refusal)
        if event.logprobs:
            self.notices.add("not_carried", "", "logprobs")

    def _annotation(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, "message")
        if item is not None and schema.is_object(event.annotation) and event.content_index == item.part:
            item.noted = True
            self._note(item, event.content_index, event.annotation)

    def _note(self, item: OutputItem, part: int, annotation: msgspec.Raw) -> None:
        data, _ = guard.mend(bytes(annotation))
        self.out.append(OpaqueDelta(WIRE, "annotations", msgspec.Raw(data), item.key(part)))

    def _finish_message(self, item: OutputItem, final: schema.Item, _raw: msgspec.Raw) -> None:
        item.phase = item.phase or final.phase
        item.id = item.id or final.id
        for index, part in enumerate(final.parts()):
            self._finish_part(item, index, part)
        if item.part >= 0:
            self.out.append(Closed(item.key(item.part)))

    def _finish_part(self, item: OutputItem, index: int, part: schema.Part) -> None:
        text = item.rest(index, part.refusal or part.text)
        if text:
            self._say(item, index, text, refusal=bool(part.refusal))
        elif part.type not in ("output_text", "refusal"):
            self.notices.add("not_carried", "content", part.type[:40])
        if index == item.part and not item.noted:
            for annotation in part.annotations or []:
                self._note(item, index, annotation)
        if part.logprobs:
            self.notices.add("not_carried", "", "logprobs")

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _open_call(self, made: OutputItem, item: schema.Item) -> None:
        made.opened = True
        call_id = item.call_id or item.id or made_up_id(self._id, made.place)
        search = item.type == "tool_search_call"
        name = plain_name(item.name or "", self.notices) if not search else "tool_search"
        freeform = item.type == "custom_tool_call"
        self.out.append(
            ToolOpened(
                call_id,
                name,
                made.place,
                made.id or item.id,
                freeform=freeform,
                namespace=item.namespace,
                search=search,
            )
        )
        for text in made.held:
            self._arguments(made, text)

    def _arguments(self, item: OutputItem, text: str) -> None:
        item.said.add(text)
        self.out.append(ToolDelta(text, item.place))

    def _call_delta(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, _KINDS[event.type])
        if item is None or not event.delta:
            return
        if item.opened:
            self._arguments(item, event.delta)
        else:
            item.held.append(event.delta)

    def _call_done(self, event: schema.StreamEvent) -> None:
        item = self._implied(event, _KINDS[event.type])
        text = event.arguments or event.input
        if item is None or not text:
            return
        if not item.opened:
            item.held = [text]
        elif rest := item.said.rest(text):
            self._arguments(item, rest)

    def _finish_call(self, item: OutputItem, final: schema.Item, raw: msgspec.Raw) -> None:
        if final.type == "tool_search_call" and final.execution != "client":
            self._pass_on(item, final, raw)  # the server has searched itself
            return
        if not (item.opened or final.name or final.type == "tool_search_call"):
            self.notices.add("bad_field", "item.name", "a call without a name")
            return
        if not item.opened:
            self._open_call(item, final)
        text = final.input if final.type == "custom_tool_call" else final.arguments
        if isinstance(text, dict):
            text = _encode(text).decode()
        if rest := item.said.rest(text or ""):
            self._arguments(item, rest)
        self.out.append(Closed(item.place))

    # ---- whole ---------------------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Event]:
        """A whole response as the events its stream would have had. Raises `WireFault`."""
        response = self._read_response(msgspec.Raw(read_whole(body, self.notices)))
        if response.error is not None or response.status == "failed":
            return [Failed(openai_errors.fault(response.error))]
        if response.output is None:
            raise bad_reply("the reply has no output")
        if response.status in ("queued", "in_progress", "cancelled"):
            return [Failed(Fault("cut", f"the response is {response.status}"))]
        self.finish_response(response)
        self.end()
        return self.out


_CALLS = ("function_call", "custom_tool_call")
_KINDS = {
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.custom_tool_call_input.done": "custom_tool_call",
}

_FINISH: dict[str, Callable[[ReplyDecoder, OutputItem, schema.Item, msgspec.Raw], None]] = {
    "reasoning": ReplyDecoder._finish_reasoning,
    "message": ReplyDecoder._finish_message,
    "function_call": ReplyDecoder._finish_call,
    "custom_tool_call": ReplyDecoder._finish_call,
    "tool_search_call": ReplyDecoder._finish_call,
}


def _nothing(_decoder: ReplyDecoder, _event_: schema.StreamEvent) -> None:
    """Says nothing that another event does not say."""


_EVENTS: dict[str, Callable[[ReplyDecoder, schema.StreamEvent], Any]] = {
    "response.output_text.delta": ReplyDecoder._text,
    "response.reasoning_summary_text.delta": ReplyDecoder._summary,
    "response.reasoning_text.delta": ReplyDecoder._raw_text,
    **dict.fromkeys((name for name in _KINDS if name.endswith(".delta")), ReplyDecoder._call_delta),
    **dict.fromkeys((name for name in _KINDS if name.endswith(".done")), ReplyDecoder._call_done),
    "response.refusal.delta": ReplyDecoder._refusal,
    "response.created": ReplyDecoder._created,
    "response.in_progress": ReplyDecoder._created,
    "response.output_item.added": ReplyDecoder._item_added,
    "response.output_item.done": ReplyDecoder._item_done,
    "response.content_part.added": _nothing,
    "response.content_part.done": _nothing,
    "response.reasoning_summary_part.added": _nothing,
    "response.reasoning_summary_part.done": _nothing,
    "response.reasoning_summary_text.done": ReplyDecoder._summary_done,
    "response.reasoning_text.done": ReplyDecoder._raw_text_done,
    "response.output_text.done": ReplyDecoder._text_done,
    "response.refusal.done": ReplyDecoder._text_done,
    "response.output_text.annotation.added": ReplyDecoder._annotation,
    "response.completed": ReplyDecoder._terminal,
    "response.incomplete": ReplyDecoder._terminal,
    "response.failed": ReplyDecoder._failed,
    "response.cancelled": ReplyDecoder._cancelled,
    "error": ReplyDecoder._error,
}


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole response to events, and whether they may hold halves of surrogate pairs. Raises `WireFault`."""
    decoder = ReplyDecoder(notices)
    events = decoder.whole(body)
    return events, decoder.halves


__all__ = ["BETWEEN_PARTS", "SEAL_FORMAT", "WIRE", "ReplyDecoder", "decode_reply"]
