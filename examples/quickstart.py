"""One question, the thinking and the answer as they come. Runs against the lab; no account is needed."""

import asyncio

from thinkwire.agent import Client
from thinkwire.lab.server import start


async def main(url: str) -> None:
    # With an account: base_url = "https://api.anthropic.com", key = your own, model = one of theirs.
    claude = {"wire": "anthropic", "base_url": f"{url}/claude-adaptive", "model": "claude-opus-5-5-lab"}

    async with Client({"backends": {"claude": claude}}) as client:
        async for event in client.stream("What is 17 * 23?", options={"thinking": {"type": "adaptive"}}):
            match event.type:
                case "thinking_delta":
                    print(event.thinking, end="", flush=True)
                case "thinking_block_stop":
                    print("\n---")
                case "text_delta":
                    print(event.text, end="", flush=True)
                case "finished":
                    print(f"\n--- {event.outcome}, {event.usage.output} tokens")
                case "failed":
                    print(f"\n--- {event.code}: {event.message}")


if __name__ == "__main__":
    with start() as lab:
        asyncio.run(main(lab.url))
