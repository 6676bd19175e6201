"""What the gateway holds on to: 10,000 streams that clients abort, then 1,000 streams at a steady pace at once.

    make soak

Memory must come back to what it was after a first hundred streams, and no connection may stay open. At the steady pace
each event must come when it is due; events that are late without the gateway (the same load straight at the upstream,
in the same run) are not its fault. Exits with 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

sys.path[:0] = [path for path in [str(Path(__file__).parent)] if path not in sys.path]

from gateway import CONFIG, MESSAGES, encoded, free_port, memory, request, started  # noqa: E402

MOST_GROWTH = 8192
"""KiB that may be left behind: what the allocator keeps, not what streams hold."""
LATE = 0.25
"""Seconds behind its time from which on an event is late."""
MOST_LATE = 0.01
"""Part of the events that may be, beyond those that are late without the gateway."""

PATH = "/v1/messages"
FLOWING = encoded(model="m", max_tokens=64, stream=True, messages=MESSAGES)


async def aborted(port: int, after: int) -> None:
    """Opens a stream, reads a little, and is gone."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(PATH, FLOWING))
    if after:
        await reader.readexactly(after)
    writer.transport.abort()


async def abort_many(port: int, pid: int, count: int) -> int:
    """KiB that are held after so many aborted streams, beyond those after the first hundred."""
    await asyncio.gather(*(aborted(port, 300) for _ in range(100)))
    await asyncio.sleep(1)
    before = memory(pid)
    for n in range(count // 50):
        await asyncio.gather(*(aborted(port, (0, 40, 300, 2000)[(n + k) % 4]) for k in range(50)))
    await asyncio.sleep(1)
    return memory(pid) - before


async def paced(port: int, path: str) -> list[float]:
    """The times at which the pieces of one stream came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(path, FLOWING))
    times: list[float] = []
    last = b""
    while not last.endswith(b"0\r\n\r\n"):
        piece = await reader.read(65536)
        if not piece:
            raise SystemExit("a stream was cut")
        times.append(time.monotonic())
        last = (last + piece)[-16:]
    writer.close()
    return times


async def late_part(port: int, path: str, streams: int, pace: float) -> float:
    """The part of all gaps that are longer than the pace and `LATE` together."""
    runs = await asyncio.gather(*(paced(port, path) for _ in range(streams)))
    gaps = [after - before for times in runs for before, after in pairwise(times)]
    return sum(gap > pace + LATE for gap in gaps) / len(gaps)


def connections(pid: int) -> int:
    return sum("socket:" in str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink())


async def soak(slow: int, ours: tuple[int, int], calm: tuple[int, int], args: argparse.Namespace) -> bool:
    port, pid = ours
    open_before = connections(pid)
    growth = await abort_many(port, pid, args.aborted)
    await asyncio.sleep(1)
    left = connections(pid) - open_before
    print(f"{args.aborted:,} aborted streams: {growth:+,} KiB (bound {MOST_GROWTH:,}), {left} connections left open")
    plain = await late_part(slow, "/v1/chat/completions", args.streams, args.pace)
    late = await late_part(calm[0], PATH, args.streams, args.pace)
    added = max(0.0, late - plain)
    print(f"{args.streams:,} streams at once: {added:.2%} of the events late by the gateway (bound {MOST_LATE:.0%})")
    return growth <= MOST_GROWTH and left <= 2 and added <= MOST_LATE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--aborted", type=int, default=10_000)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--pace", type=float, default=0.1, help="seconds between two events of a paced stream")
    args = parser.parse_args()
    fast, slow, first, second = (free_port() for _ in range(4))
    with ExitStack() as stack:
        run = stack.enter_context
        folder = Path(run(tempfile.TemporaryDirectory()))
        upstream_script = str(Path(__file__).parent / "upstream.py")
        run(started([sys.executable, upstream_script, str(fast), "0.004"], fast))
        run(started([sys.executable, upstream_script, str(slow), str(args.pace)], slow))
        gateways = []
        for port, upstream in ((first, fast), (second, slow)):
            config = folder / f"{port}.toml"
            config.write_text(CONFIG.format(upstream=upstream, port=port), encoding="utf-8")
            command = [sys.executable, "-m", "thinkwire.cli", "serve", "--config", str(config)]
            gateways.append((port, run(started(command, port))))
        good = asyncio.run(soak(slow, *gateways, args))
    sys.exit(not good)


if __name__ == "__main__":
    main()
