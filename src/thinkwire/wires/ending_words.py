"""What a wire cannot say at the end of a reply: reasons to stop that it has no word for, and counts without a place."""

from __future__ import annotations

from collections.abc import Collection

from thinkwire.model import Notices, StopReason, Usage


def note_reason(reason: StopReason, unsaid: Collection[StopReason], field: str, notices: Notices) -> None:
    """Notices a reason that is written as another one."""
    if reason in unsaid:
        notices.add("converted", field, reason)


def note_sequence(reason: StopReason, sequence: str | None, notices: Notices) -> None:
    """On a wire that does not say that a stop sequence ended the reply, nor which."""
    if sequence is not None or reason == "stop_sequence":
        notices.add("not_carried", "", "stop_sequence")


def note_counts(usage: Usage, placeless: Collection[str], notices: Notices) -> None:
    """Notices the counts that say something and have no place."""
    for name in placeless:
        if getattr(usage, name):
            notices.add("not_carried", "usage", name)
