"""What the converter costs per chunk, next to two floors measured in the same run.

The floors read and write the same chunk and convert nothing: msgspec (decode + encode) and the standard library
(`json.loads` + `json.dumps`). Figures are CPU microseconds per chunk, the best of several rounds; rounds of all rows
take turns, so that a busy machine slows every row alike. Compare ratios, not microseconds.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from functools import partial

import msgspec

import thinkwire.convert
from thinkwire import StreamTranslator


def form() -> str:
    """Which form of the package is measured, and on which interpreter."""
    kind = "pure Python" if thinkwire.convert.__file__.endswith(".py") else "compiled"
    return f"thinkwire: {kind}, on {platform.python_implementation()} {platform.python_version()}"


def chat_chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-8f14e45f", "object": "chat.completion.chunk", "created": 1700000000, "model": "glm-4.7"}
    return b"data: " + json.dumps({**head, "choices": [choice]}, separators=(",", ":")).encode() + b"\n\n"


def chat_stream(chunks: int) -> list[bytes]:
    """`<think>` reasoning, then an answer, half and half."""
    half = chunks // 2
    words = ["<think>", *(f" thought{i}" for i in range(half)), "</think>", *(f" word{i}" for i in range(half))]
    deltas = [chat_chunk({"content": word}) for word in words]
    return [chat_chunk({"role": "assistant", "content": ""}), *deltas, chat_chunk({}, "stop"), b"data: [DONE]\n\n"]


def anthropic_event(name: str, **body: object) -> bytes:
    data = json.dumps({"type": name, **body}, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()


def anthropic_stream(chunks: int) -> list[bytes]:
    """A signed thought, then an answer, half and half."""
    half = chunks // 2
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    out = [anthropic_event("message_start", message={**message, "usage": {"input_tokens": 9, "output_tokens": 1}})]
    blocks = (
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking"),
        ({"type": "text", "text": ""}, "text"),
    )
    for index, (block, kind) in enumerate(blocks):
        out.append(anthropic_event("content_block_start", index=index, content_block=block))
        deltas = ({"type": f"{kind}_delta", kind: f" w{i}"} for i in range(half))
        out += [anthropic_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        if kind == "thinking":
            signature = {"type": "signature_delta", "signature": "EqQBCkYIARgCIkD" * 20}
            out.append(anthropic_event("content_block_delta", index=index, delta=signature))
        out.append(anthropic_event("content_block_stop", index=index))
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    out.append(anthropic_event("message_delta", delta=stop, usage={"output_tokens": chunks}))
    return [*out, anthropic_event("message_stop")]


def translate(source: str, target: str, chunks: list[bytes]) -> int:
    translator = StreamTranslator(source=source, target=target)
    feed = translator.feed
    size = 0
    for chunk in chunks:
        size += len(feed(chunk))
    return size + len(translator.finish())


def payloads(chunks: list[bytes]) -> list[bytes]:
    return [chunk[chunk.index(b"data: ") + 6 :].strip() for chunk in chunks if b"[DONE]" not in chunk]


def msgspec_floor(documents: list[bytes]) -> None:
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    for document in documents:
        encode(decode(document))


def stdlib_floor(documents: list[bytes]) -> None:
    for document in documents:
        json.dumps(json.loads(document))


def measure(rows: dict[str, tuple[Callable[[], object], int]], rounds: int) -> dict[str, float]:
    """Best CPU time of each row, per chunk, in microseconds."""
    best = dict.fromkeys(rows, float("inf"))
    for round_ in range(rounds):
        print(f"\rround {round_ + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for name, (work, chunks) in rows.items():
            start = time.process_time()
            work()
            best[name] = min(best[name], (time.process_time() - start) / chunks * 1e6)
    print("\r\033[K", end="", file=sys.stderr)
    return best


def table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|---|" + "---:|" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def per_chunk(chunks: int, rounds: int) -> None:
    streams = {"openai-chat": chat_stream(chunks), "anthropic": anthropic_stream(chunks)}
    pairs = [("openai-chat", "anthropic"), ("anthropic", "openai-chat")]
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for source, target in pairs:
        stream = streams[source]
        documents = payloads(stream)
        work[f"{source} → {target}"] = partial(translate, source, target, stream), len(stream)
        work[f"{source} msgspec"] = partial(msgspec_floor, documents), len(documents)
        work[f"{source} stdlib"] = partial(stdlib_floor, documents), len(documents)
    best = measure(work, rounds)
    rows = []
    for source, target in pairs:
        own, fast, slow = best[f"{source} → {target}"], best[f"{source} msgspec"], best[f"{source} stdlib"]
        name = f"{source}{' `<think>`' if source == 'openai-chat' else ''} → {target}"
        rows.append((name, f"{own:.2f}", f"{fast:.2f}", f"{slow:.2f}", f"{own / fast:.1f}×", f"{own / slow:.2f}×"))
    header = ("CPU µs per chunk", "thinkwire", "msgspec floor", "stdlib floor", "to msgspec", "to stdlib")
    table(f"Per chunk ({chunks:,} chunks, one read each)", header, rows)


def every_wire(chunks: int, rounds: int) -> None:
    """Pairs that matter. A stream of another wire is what an Anthropic stream becomes there, one read per event."""
    pairs = [("bedrock", "anthropic"), ("openai-responses", "anthropic"), ("gemini", "anthropic")]
    pairs += [("ollama", "anthropic"), ("anthropic", "openai-responses"), ("anthropic", "gemini")]
    native = anthropic_stream(chunks)
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for source, target in pairs:
        stream = native if source == "anthropic" else converted(native, source)
        work[f"{source} → {target}"] = partial(translate, source, target, stream), len(stream)
    best = measure(work, rounds)
    rows = [(name, f"{value:.2f}") for name, value in best.items()]
    table("Between other wires (budget 8 µs)", ("CPU µs per event", "thinkwire"), rows)


def converted(native: list[bytes], wire: str) -> list[bytes]:
    translator = StreamTranslator(source="anthropic", target=wire)
    pieces = [*map(translator.feed, native), translator.finish()]
    return [piece for piece in pieces if piece]


def flatness(rounds: int) -> None:
    lengths = [100, 1_000, 10_000, 100_000]
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for length in lengths:
        stream = chat_stream(length)
        repeats = max(1, 10_000 // length)
        work[f"{length:,}"] = partial(repeat, repeats, stream), len(stream) * repeats
    best = measure(work, rounds)
    header = ("chunks in the stream", *best)
    table("Length of the stream", header, [("CPU µs per chunk", *(f"{value:.2f}" for value in best.values()))])


def repeat(times: int, stream: list[bytes]) -> None:
    for _ in range(times):
        translate("openai-chat", "anthropic", stream)


def large_block(rounds: int) -> None:
    """One thought in one content delta per 64 KiB: time per byte must not grow."""
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for mebibytes in (1, 2, 4):
        piece = "reasoning <b> & more " * 3120
        pieces = [chat_chunk({"content": piece})] * (mebibytes * 16)
        stream = [chat_chunk({"content": "<think>"}), *pieces, chat_chunk({"content": "</think>x"}, "stop")]
        work[f"{mebibytes} MiB"] = partial(translate, "openai-chat", "anthropic", stream), mebibytes * 1024
    best = measure(work, rounds)
    table("One large thought", ("size", *best), [("CPU µs per KiB", *(f"{value:.2f}" for value in best.values()))])


def tiny_reads(rounds: int) -> None:
    stream = chat_stream(2_000)
    raw = b"".join(stream)
    work: dict[str, tuple[Callable[[], object], int]] = {
        "one read per chunk": (partial(translate, "openai-chat", "anthropic", stream), len(raw)),
        "one read in all": (partial(translate, "openai-chat", "anthropic", [raw]), len(raw)),
        "one byte per read": (
            partial(translate, "openai-chat", "anthropic", [raw[i : i + 1] for i in range(len(raw))]),
            len(raw),
        ),
    }
    best = measure(work, rounds)
    whole = best["one read per chunk"]
    rows = [(name, f"{value * 1000:.1f}", f"{value / whole:.1f}×") for name, value in best.items()]
    table("Size of the reads", ("", "CPU ns per byte", "to one read per chunk"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000, help="chunks per stream (default 20,000)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per row; the best counts (default 7)")
    args = parser.parse_args()
    print(form())
    per_chunk(args.chunks, args.rounds)
    every_wire(args.chunks, args.rounds)
    flatness(args.rounds)
    large_block(args.rounds)
    tiny_reads(args.rounds)


if __name__ == "__main__":
    main()
