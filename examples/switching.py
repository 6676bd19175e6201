"""One conversation over three providers and two runs of the program: nothing of it is lost."""

import asyncio
import tempfile
from pathlib import Path

from thinkwire.agent import Client
from thinkwire.lab.server import start

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000, "effort": "medium"}, "events": "blocks"}


def config(url: str) -> dict[str, object]:
    return {
        "backends": {
            "claude": {
                "wire": "anthropic",
                "base_url": f"{url}/claude",
                "model": "claude-sonnet-4-5",
            },
            "gpt": {
                "wire": "openai-responses",
                "base_url": f"{url}/responses/v1",
                "model": "gpt-5.5",
                "trust": "openai",
            },
            "local": {"wire": "openai-chat", "base_url": f"{url}/reasoning/v1", "model": "glm-4.7"},
        },
    }


async def ask(client: Client, prompt: str, backend: str, conversation: str | None) -> str:
    async for event in client.stream(prompt, conversation, {"backend": backend}, options=THINKING):
        if event.type == "conversation_started":
            conversation = event.conversation_id
        elif event.type == "notice":
            print(f"{backend}: {event.code} {event.where} {event.detail}")
        elif event.type == "finished":
            print(f"{backend}: {event.text}")
    assert conversation is not None
    return conversation


async def first_run(url: str, store: Path) -> str:
    async with Client(config(url), store) as client:
        conversation = await ask(client, "Think of a number.", "claude", None)
        return await ask(client, "Double it.", "gpt", conversation)


async def second_run(url: str, store: Path, conversation: str) -> None:
    async with Client(config(url), store) as client:
        await ask(client, "Halve it.", "local", conversation)
        await ask(client, "Which was it?", "claude", conversation)  # gets its own signed thought back
        for entry in client.conversations.entries(conversation):
            for block in entry.blocks:
                seal = getattr(block, "seal", None)
                print(f"{entry.role:9} {entry.facts.backend:7} {type(block).__name__:10} {seal.origin if seal else ''}")


if __name__ == "__main__":
    with start() as lab, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.db"
        name = asyncio.run(first_run(lab.url, path))
        asyncio.run(second_run(lab.url, path, name))
