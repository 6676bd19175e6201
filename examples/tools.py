"""Python functions as tools, with a hook that is asked before each call."""

import asyncio

from thinkwire.agent import AgentEvent, Client, StreamingOptions, ThinkingConfig
from thinkwire.agent.events import ToolCall
from thinkwire.lab.server import start


def convert(amount: float, to: str) -> float:
    """Converts an amount of euros.

    Args:
        amount: how many euros
        to: the currency's code, such as USD
    """
    return round(amount * {"USD": 1.1}.get(to, 1.0), 2)


async def look_up(query: str) -> list[str]:
    """Looks something up in the notes."""
    await asyncio.sleep(0)
    return [f"nothing about {query}"]


def approve(call: ToolCall) -> bool | str:
    return True if call.name == "convert" else "This program may not read the notes."


def show(event: AgentEvent) -> None:
    if event.type in ("tool_call", "tool_result", "finished"):
        print(event)


async def main(url: str) -> None:
    backend = {"wire": "openai-chat", "base_url": f"{url}/think,tools=parallel/v1", "model": "lab-qwen3"}
    options = StreamingOptions(thinking=ThinkingConfig(effort="low"), approve=approve, max_rounds=5)
    async with Client({"backends": {"local": backend}}) as client:
        await client.stream_agent("Convert 20 euros", show, tools=[convert, look_up], options=options)


if __name__ == "__main__":
    with start() as lab:
        asyncio.run(main(lab.url))
