"""Turns of the model that were kept as they were streamed: one content for each event, a few words in each.

Google's own clients keep a streamed chat like this (`chats` of google-genai 3.3) and send it back. The pieces of one
turn become one message, and the pieces of one thought or text one block, as the stream would have been folded. What is
signed, or holds anything besides its text, stays a block of its own: a signature stands for its part.
"""

from __future__ import annotations

from itertools import groupby

from thinkwire.model import Block, Message, Reasoning, Text


def join_streamed(messages: list[Message]) -> list[Message]:
    joined: list[Message] = []
    for mergeable, run in groupby(messages, _may_join):
        contents = list(run)
        if mergeable and len(contents) > 1:
            joined.append(Message("assistant", _folded([block for one in contents for block in one.blocks])))
        else:
            joined += contents
    return joined


def _may_join(message: Message) -> bool:
    return message.role == "assistant" and message.extra is None


def _folded(blocks: list[Block]) -> list[Block]:
    folded: list[Block] = []
    for kind, run in groupby(blocks, _kind_of_piece):
        pieces = list(run)
        text = "".join(piece.text for piece in pieces if isinstance(piece, Text | Reasoning))
        if kind is None:
            folded += pieces
        elif text:
            folded.append(kind(text))
    return folded


def _kind_of_piece(block: Block) -> type[Text] | type[Reasoning] | None:
    """Text or a thought with nothing to it but its words. None for everything else."""
    if isinstance(block, Text | Reasoning) and block.seal is None and block.extra is None:
        return type(block)
    return None
