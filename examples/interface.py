"""What a user interface needs: a bubble of thinking that grows, the answer, and a button that stops it."""

import asyncio

from thinkwire.agent import Abort, AgentEvent, Client
from thinkwire.lab.server import start


class Screen:
    """A window with one line per thing to show."""

    def __init__(self, stop: Abort) -> None:
        self._stop = stop
        self._updates = 0

    def show(self, event: AgentEvent) -> None:
        match event.type:
            case "reasoning_update":
                self._updates += 1
                state = "thought" if event.is_complete else "thinking"
                print(f"[{state}] {event.content[-60:]!r}")
                if self._updates == 3:
                    self._stop.abort()  # somebody pressed the button
            case "message_update":
                print(f"[answer] {event.content!r}")
            case "conversation_completed":
                print(f"[{event.outcome}]")
            case "error":
                print(f"[error] {event.message}")


async def main(url: str) -> None:
    slow = {"wire": "openai-chat", "base_url": f"{url}/reasoning,pace=0.02,size=80/v1", "model": "lab-glm-vllm"}
    stop = Abort()
    async with Client({"backends": {"slow": slow}}) as client:
        screen = Screen(stop)
        await client.stream_agent("Think for a while.", screen.show, options={"events": "ui", "abort": stop})


if __name__ == "__main__":
    with start() as lab:
        asyncio.run(main(lab.url))
