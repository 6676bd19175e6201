"""What the gateway costs, next to nginx passing the same bytes through untouched: CPU of the proxy process, in one run.

    make bench-gateway

Starts an upstream, nginx (one worker) and the gateway (one worker), all on the loopback. Rounds of nginx and gateway
take turns, so that a busy machine slows both alike; each figure is the best of its rounds. The load generator and the
upstream have processes of their own and are not counted. Compare ratios, not microseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [path for path in [str(HERE)] if path not in sys.path]

from converter import form  # noqa: E402
from upstream import ANTHROPIC, CHAT  # noqa: E402

MESSAGES = [{"role": "user", "content": "hi"}]
NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 8192; }}
http {{
  access_log off; proxy_buffering off; keepalive_requests 10000000; client_max_body_size 64m;
  client_body_buffer_size 1m; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream up {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 10000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""
CONFIG = """
[server]
host = "127.0.0.1"
port = {port}
log = "none"

[limits]
streams = 8000

[backends.chat]
wire = "openai-chat"
base_url = "http://127.0.0.1:{upstream}/v1"

[backends.claude]
wire = "anthropic"
base_url = "http://127.0.0.1:{upstream}"

[routes]
default = "chat"
"claude-*" = "claude"
"""


class Rival(NamedTuple):
    name: str
    port: int
    pid: int


class Load(NamedTuple):
    """One kind of work: what nginx and the gateway are asked, and how many units (requests or chunks) that makes."""

    path: str
    body: bytes
    gateway_path: str
    gateway_body: bytes
    units: int


# ---- processes ------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def started(command: list[str], port: int) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} did not start")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.025)
        yield process.pid
    finally:
        process.terminate()
        process.wait(10)


def worker_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(children[0]) if children else pid


def cpu(pid: int) -> float:
    """Seconds on a processor, of all threads, to the nanosecond."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / 1e9


def memory(pid: int) -> int:
    """Proportional set size in KiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


# ---- load -----------------------------------------------------------------------------------------------------------


def request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def ask(port: int, data: bytes, times: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(times):
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head[:16], head
        size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
        await reader.readexactly(size)
    writer.close()


async def stream(port: int, data: bytes) -> float:
    """Reads one stream to its end; gives the time to its first event."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    began = time.perf_counter()
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head[:16], head
    first = 0.0
    last = b""
    while not last.endswith(b"0\r\n\r\n"):
        piece = await reader.read(65536)
        assert piece, "the stream was cut"
        first = first or time.perf_counter() - began
        last = (last + piece)[-16:]
    writer.close()
    return first


async def requests(port: int, data: bytes, count: int, parallel: int) -> None:
    await asyncio.gather(*(ask(port, data, count // parallel) for _ in range(parallel)))


async def streams(port: int, data: bytes, count: int) -> list[float]:
    return list(await asyncio.gather(*(stream(port, data) for _ in range(count))))


# ---- measuring ------------------------------------------------------------------------------------------------------

Work = Callable[[int, bytes], Coroutine[Any, Any, Any]]


async def compare(nginx: Rival, gateway: Rival, load: Load, work: Work, rounds: int) -> tuple[float, float]:
    """CPU microseconds per unit of both, the best of the rounds."""
    best = {nginx: float("inf"), gateway: float("inf")}
    for _ in range(rounds):
        for rival, path, body in ((nginx, load.path, load.body), (gateway, load.gateway_path, load.gateway_body)):
            before = cpu(rival.pid)
            await work(rival.port, request(path, body))
            best[rival] = min(best[rival], (cpu(rival.pid) - before) / load.units * 1e6)
    return best[nginx], best[gateway]


async def idle_memory(rival: Rival, data: bytes, count: int) -> float:
    """KiB per stream that has said a few words and is silent now."""
    writers = []

    async def open_one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", rival.port)
        writer.write(data)
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)

    await asyncio.gather(*(open_one() for _ in range(50)))
    before = memory(rival.pid)
    for _ in range(count // 100):
        await asyncio.gather(*(open_one() for _ in range(100)))
    await asyncio.sleep(0.5)
    used = (memory(rival.pid) - before) / count
    for writer in writers:
        writer.close()
    return used


def encoded(**body: object) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def large_conversation() -> list[dict[str, Any]]:
    """About 200 KB of turns with tool calls and results, as coding agents send them."""
    messages: list[dict[str, Any]] = []
    for n in range(60):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "read", "input": {"path": f"src/file{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "line of code\n" * 240}
        messages += [{"role": "user", "content": "go on"}, {"role": "assistant", "content": [call]}]
        messages.append({"role": "user", "content": [result]})
    return messages


async def measure(nginx: Rival, gateway: Rival, rounds: int, scale: int) -> None:
    small = encoded(model="m", max_tokens=64, messages=MESSAGES)
    large = encoded(model="m", max_tokens=64, messages=large_conversation())
    flowing = encoded(model="m", max_tokens=64, stream=True, messages=MESSAGES)
    passing = flowing.replace(b'"m"', b'"claude-x"')
    count, parallel = 250 * scale, 8
    width, repeats = 20, scale

    async def many(port: int, data: bytes) -> None:
        await requests(port, data, count, parallel)

    async def few(port: int, data: bytes) -> None:
        await requests(port, data, count // 10, parallel)

    async def flow(port: int, data: bytes) -> None:
        for _ in range(repeats):
            await streams(port, data, width)

    chat, messages = "/v1/chat/completions", "/v1/messages"
    rows = [
        ("small request, converted", Load(chat, small, messages, small, count), many, 4.0),
        (f"request of {len(large) // 1000} KB, converted", Load(chat, large, messages, large, count // 10), few, None),
        ("streamed chunk, converted", Load(chat, flowing, messages, flowing, repeats * width * len(CHAT)), flow, 2.0),
        (
            "streamed chunk, same wire",
            Load(messages, passing, messages, passing, repeats * width * len(ANTHROPIC)),
            flow,
            1.3,
        ),
    ]
    print(form())
    print("| CPU µs of the proxy | nginx, untouched | gateway | ratio | budget |\n|---|---:|---:|---:|---:|")
    for name, load, work, budget in rows:
        ours, theirs = reversed(await compare(nginx, gateway, load, work, rounds))
        wanted = "" if budget is None else f"{budget:.1f}×"
        print(f"| {name} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f}× | {wanted} |", flush=True)
    firsts = {}
    for rival, path in ((nginx, chat), (gateway, messages)):
        times = [(await streams(rival.port, request(path, flowing), 1))[0] for _ in range(10 * rounds)]
        firsts[rival] = sorted(times)[len(times) // 2]
    added = (firsts[gateway] - firsts[nginx]) * 1000
    print(f"\nTime to the first event, median: {added:.2f} ms more than nginx.")
    idle = encoded(model="idle", max_tokens=64, stream=True, messages=MESSAGES)
    used = await idle_memory(gateway, request(messages, idle), 1000)
    print(f"Memory per idle translated stream: {used:.1f} KiB (budget 28 KiB).")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=int, default=8, help="how much work a round is")
    parser.add_argument("--pace", type=float, default=0.004, help="seconds between two chunks of a stream")
    args = parser.parse_args()
    nginx_binary = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if nginx_binary is None:
        raise SystemExit("nginx is needed for comparison: install it from the system's packages (nginx-light)")
    upstream, front, ours = free_port(), free_port(), free_port()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        Path(folder, "nginx.conf").write_text(NGINX.format(folder=folder, upstream=upstream, port=front))
        Path(folder, "thinkwire.toml").write_text(CONFIG.format(upstream=upstream, port=ours))
        run = stack.enter_context
        run(started([sys.executable, str(HERE / "upstream.py"), str(upstream), str(args.pace)], upstream))
        nginx = run(started([nginx_binary, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"], front))
        command = [sys.executable, "-m", "thinkwire.cli", "serve", "--config", f"{folder}/thinkwire.toml"]
        gateway = run(started(command, ours))
        rivals = Rival("nginx", front, worker_of(nginx)), Rival("gateway", ours, gateway)
        asyncio.run(measure(*rivals, args.rounds, args.scale))


if __name__ == "__main__":
    main()
