"""What is counted, how it is written, and that several workers add up."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.gateway.running import MESSAGE, run, running, settings_for
from tests.gateway.upstream import ANSWER, SSE, Upstream, chat_chunk

from thinkwire.gateway.metrics import KINDS, MODELS, SERIES, Cells, Metrics
from thinkwire.gateway.record import Record
from thinkwire.model import Notice, Usage


def record(**fields: object) -> Record:
    values = {"face": "anthropic", "backend": "glm", "model": "m", "status": 200, "end": "ok", "attempts": 1}
    values |= {"request_id": "r", "asked": "m", "stream": True, "began": 0.0, "seconds": 1.5, "first_event": 0.2}
    return Record(**(values | fields))  # type: ignore[arg-type]


def lines(metrics: Metrics) -> list[str]:
    return metrics.text().decode().splitlines()


LABELS = 'face="anthropic",backend="glm",model="m"'


def test_a_request_is_counted() -> None:
    metrics = Metrics(lambda: (3, 2))
    metrics.observe(record(usage=Usage(input=10, output=5, cache_read=0), longest_gap=0.3))
    metrics.observe(record(end="upstream.stream.cut", attempts=3, notices=[Notice("seal_withheld", "", "")]))
    text = lines(metrics)
    assert f'thinkwire_requests_total{{{LABELS},end="ok"}} 1' in text
    assert f'thinkwire_requests_total{{{LABELS},end="upstream.stream.cut"}} 1' in text
    assert f'thinkwire_tokens_total{{{LABELS},kind="input"}} 10' in text
    assert f'thinkwire_tokens_total{{{LABELS},kind="cache_read"}} 0' in text
    assert 'thinkwire_upstream_attempts_total{backend="glm"} 4' in text
    assert 'thinkwire_upstream_retries_total{backend="glm"} 2' in text
    assert 'thinkwire_notices_total{backend="glm",code="seal_withheld"} 1' in text
    assert "thinkwire_open_requests 3" in text
    assert "thinkwire_upstream_connections 2" in text


def test_what_came_of_the_ledger_s_store_is_counted() -> None:
    metrics = Metrics()
    metrics.count_stored("found", 3)
    metrics.count_stored("absent", 0)
    metrics.count_stored("found", 2)
    assert 'thinkwire_ledger_store_total{outcome="found"} 5' in lines(metrics)


def test_an_unknown_count_is_not_zero() -> None:
    metrics = Metrics()
    metrics.observe(record(usage=Usage(input=10)))
    text = lines(metrics)
    assert f'thinkwire_tokens_unknown_total{{{LABELS},kind="reasoning"}} 1' in text
    assert not any("tokens_total" in line and 'kind="reasoning"' in line for line in text)


def test_histograms_add_up() -> None:
    metrics = Metrics()
    for seconds in (0.05, 0.1, 0.3, 5000.0):
        metrics.observe(record(seconds=seconds, first_event=None))
    buckets = [line for line in lines(metrics) if line.startswith("thinkwire_request_seconds_bucket")]
    assert [int(line.rpartition(" ")[2]) for line in buckets] == [2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4]
    assert buckets[-1].startswith(f'thinkwire_request_seconds_bucket{{{LABELS},le="+Inf"}}')
    assert f"thinkwire_request_seconds_sum{{{LABELS}}} 5000.45" in lines(metrics)
    assert f"thinkwire_request_seconds_count{{{LABELS}}} 4" in lines(metrics)
    assert not any("first_event" in line for line in lines(metrics))


def test_models_are_bounded_and_only_of_requests_that_were_answered() -> None:
    metrics = Metrics()
    metrics.observe(record(model="made up", end="upstream.headers.not_found"))
    for number in range(MODELS + 50):
        metrics.observe(record(model=f"m{number}"))
    text = metrics.text().decode()
    assert "made up" not in text
    assert text.count("thinkwire_requests_total{") == MODELS + 2  # with `other`, by two ends
    assert 'thinkwire_requests_total{face="anthropic",backend="glm",model="other",end="ok"} 50' in text


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.observe(record(model='a"b\\c\nd'))
    assert 'model="a\\"b\\\\c\\nd"' in metrics.text().decode()


def test_every_line_is_one_that_prometheus_takes() -> None:
    metrics = Metrics()
    metrics.observe(record(usage=Usage(input=1)))
    for line in lines(metrics):
        assert line.startswith(("# HELP thinkwire_", "# TYPE thinkwire_")) or float(line.rpartition(" ")[2]) >= 0


# ---- workers ---------------------------------------------------------------------------------------------------------


def test_workers_add_up(tmp_path: Path) -> None:
    one, other = Metrics(lambda: (1, 1), tmp_path, 0), Metrics(lambda: (2, 5), tmp_path, 1)
    one.observe(record())
    other.observe(record())
    other.observe(record(face="ollama"))
    assert one.text() == other.text()
    assert f'thinkwire_requests_total{{{LABELS},end="ok"}} 2' in lines(one)
    assert "thinkwire_open_requests 3" in lines(one)


def test_who_takes_a_dead_workers_place_goes_on_counting(tmp_path: Path) -> None:
    Metrics(lambda: (7, 7), tmp_path, 0).observe(record())
    again = Metrics(lambda: (0, 0), tmp_path, 0)
    again.observe(record())
    assert f'thinkwire_requests_total{{{LABELS},end="ok"}} 2' in lines(again)
    assert "thinkwire_open_requests 0" in lines(again)


def test_cells_are_bounded() -> None:
    cells = Cells()
    for number in range(SERIES + 3):
        cells.set((str(number), ()), 1.0)
    assert len(list(cells.items())) == SERIES


SAMPLE = re.compile(r"(\w+)\{(.*)\} (\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')


def samples(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    found = [match for match in map(SAMPLE.fullmatch, text.splitlines()) if match is not None and match[1] == name]
    return [(dict(LABEL.findall(match[2])), float(match[3])) for match in found]


def histograms(text: str, name: str) -> dict[str, dict[str, float]]:
    """The buckets of each backend, in their order."""
    found: dict[str, dict[str, float]] = {}
    for labels, count in samples(text, f"{name}_bucket"):
        found.setdefault(labels["backend"], {})[labels["le"]] = count
    return found


def quantile(buckets: dict[str, float], part: float) -> float:
    return next(float(bound) for bound, count in buckets.items() if count >= part * buckets["+Inf"])


def test_what_is_counted_adds_up() -> None:
    """D21: totals are the sums over the backends, no bucket has fewer than one below it, and nothing begins behind its
    end. Of prices the gateway knows nothing, so there is no cost to check."""

    async def test() -> None:
        metrics, records = Metrics(), list[Record]()
        pause = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, pause.set)
        slow = (SSE, chat_chunk("a"), pause, *ANSWER[1:])
        broken = (SSE, chat_chunk("a"))
        async with (
            Upstream(ANSWER, slow, ANSWER, broken).serving() as one,
            Upstream(ANSWER).serving() as other,
            running(settings_for(one.url, other.url), metrics.observe, records.append) as it,
        ):
            for model in ("one", "one", "two", "one", "two", "two", "one"):
                await it.ask("POST", "/v1/messages", {**MESSAGE, "model": model})
            await it.ask("POST", "/v1/messages", b"nonsense".decode())
        text = metrics.text().decode()
        requests = samples(text, "thinkwire_requests_total")
        assert sum(count for _, count in requests) == len(records) == 8
        for backend in ("one", "two"):
            ended = [record for record in records if record.backend == backend]
            assert sum(count for labels, count in requests if labels["backend"] == backend) == len(ended)
            output = [n for labels, n in samples(text, "thinkwire_tokens_total") if labels["backend"] == backend]
            assert sum(output) == sum(tokens(record) for record in ended) > 0
        tried = samples(text, "thinkwire_upstream_attempts_total")
        assert sum(count for _, count in tried) == len(one.requests) + len(other.requests)
        for name in ("thinkwire_request_seconds", "thinkwire_first_event_seconds", "thinkwire_longest_gap_seconds"):
            for backend, buckets in histograms(text, name).items():
                counts = list(buckets.values())
                assert counts == sorted(counts)
                assert counts[-1] == sum(n for own, n in samples(text, f"{name}_count") if own["backend"] == backend)
                p50, p95, p99 = (quantile(buckets, part) for part in (0.5, 0.95, 0.99))
                assert p50 <= p95 <= p99
        assert quantile(histograms(text, "thinkwire_request_seconds")["one"], 0.99) > 0.1, "the slow one is in it"
        for record in records:
            assert record.first_event is None or 0 <= record.first_event <= record.seconds
            assert record.longest_gap <= record.seconds

    run(test())


def tokens(record: Record) -> int:
    usage = record.usage
    return 0 if usage is None else sum(getattr(usage, kind) or 0 for kind in KINDS)


def test_over_http() -> None:
    async def test() -> None:
        metrics = Metrics()
        async with Upstream(ANSWER).serving() as upstream, running(settings_for(upstream.url), metrics.observe) as it:
            assert (await it.ask("GET", "/metrics")).status == 404
            it.gateway.control.metrics = metrics.text
            await it.ask("POST", "/v1/messages", MESSAGE)
            reply = await it.ask("GET", "/metrics")
        assert b"content-type: text/plain; version=0.0.4" in reply.head
        assert b'kind="output"} 5' in reply.body
        assert b"thinkwire_first_event_seconds_count" in reply.body

    run(test())
