"""What another backend would get of a conversation, told before it is asked. Nothing is sent and nothing is kept.

The conversation is projected and written as it would be for the next question, and what was written is read again; so
this says the same as `thinkwire preflight` says of a client's request.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkwire.agent.backends import Choice
from thinkwire.agent.history import Place, not_run, project_history, unanswered
from thinkwire.agent.store import Entry
from thinkwire.convert import TranslatedRequest, write_request
from thinkwire.faults import WireFault
from thinkwire.model import Intent, Notices, Reasoning, Request, Text
from thinkwire.preflight import Preflight, judge


def foresee(entries: Sequence[Entry], choice: Choice) -> Preflight:
    """Of the conversation with one more prompt, which is not known yet."""
    try:
        written = draft(entries, choice)
    except WireFault as fault:
        return Preflight(False, fault.message)
    return judge(_thoughts(entries), set(), written.body, choice.target.wire, written.notices)


def draft(entries: Sequence[Entry], choice: Choice) -> TranslatedRequest:
    """The next request, with a prompt that stands for the one to come. Raises `WireFault` for what it cannot be."""
    target, model, wish = choice
    notices = Notices()
    request = Request(
        model=model,
        system=[Text(wish.system)] if wish.system else [],
        max_tokens=wish.max_tokens,
        thinking=wish.thinking.intent() if wish.thinking is not None else Intent(),
        stream=True,
    )
    prompt = Entry(role="user", blocks=(*not_run(unanswered(entries)), Text("?")))
    request = project_history(request, [*entries, prompt], Place(target, model), 0, notices)
    return write_request(request, target.wire, model or None, target.read(model).rules, notices)


def _thoughts(entries: Sequence[Entry]) -> list[tuple[int, Reasoning]]:
    return [(at, block) for at, entry in enumerate(entries) for block in entry.blocks if isinstance(block, Reasoning)]
