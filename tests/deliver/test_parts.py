"""A large source enters the ledger part by part: the same ledger, whatever its parts."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ingest import hold, stage
from ingest.config import Configuration
from ingest.deliver import DeliveryCounts, deliver, derive_again
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Batch, Call, Reject, Span

MakeReader = Callable[..., Any]
NOW = 1_800_000_000_000_000_000
S = 1_000_000_000
SPANS_PER_TRACE = 3
CALLS = "* exclude (call_no, cohort_id, delivery_id)"


def spans_of(trace: int) -> list[Span]:
    """A route with two model calls below it."""
    common = {"trace_id": f"{trace:032x}", "resource": {"service.name": "shop"}}
    route = Span(
        span_id=f"{trace * 10:016x}",
        name="GET /ask",
        kind="server",
        started_at=NOW + trace * S,
        ended_at=NOW + trace * S + S,
        attributes={"http.route": "/ask"},
        **common,
    )
    chats = [
        Span(
            span_id=f"{trace * 10 + number:016x}",
            parent_span_id=route.span_id,
            name="chat m",
            kind="client",
            started_at=NOW + trace * S,
            ended_at=NOW + trace * S + number * S // 4,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 100 + trace,
                "gen_ai.usage.output_tokens": 10 + number,
            },
            **common,
        )
        for number in (1, 2)
    ]
    return [route, *chats]


def shuffled(traces: int) -> list[Span]:
    """The spans of that many traces, those of one trace far apart."""
    spans = [span for trace in range(1, traces + 1) for span in spans_of(trace)]
    random.Random(7).shuffle(spans)  # noqa: S311 - repeatable, not secret
    return spans


def table(ledger: Ledger, name: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return ledger.connection.execute(f"select {columns} from {name} order by all").fetchall()


def content(ledger: Ledger) -> list[list[tuple[Any, ...]]]:
    return [table(ledger, "spans", "* exclude (delivery_id)"), table(ledger, "calls", CALLS)]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "PART_RECORDS", 6)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[DeliveryCounts]:
    """What became of each part, as parts are settled."""
    found: list[DeliveryCounts] = []
    settle = stage.Stage.settle

    def noted(self: stage.Stage) -> DeliveryCounts:
        counts = settle(self)
        found.append(counts)
        return counts

    monkeypatch.setattr(stage.Stage, "settle", noted)
    return found


@pytest.mark.usefixtures("small_parts")
def test_parts_make_the_ledger_that_the_source_makes_at_once(
    ledger: Ledger,
    source: Source,
    reader_of: MakeReader,
    settled: list[DeliveryCounts],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans = shuffled(10)
    calls = [Call(identity=f"record:{n}", timing_source="engine", model="m") for n in range(8)]
    given = reader_of([*spans, *spans[:5]], [*calls, calls[0]])
    given.batches.append(Batch(rejects=[Reject(position="line 9", reason="no JSON")] * 7))
    counts = deliver(ledger, source, given, Configuration())
    assert counts == DeliveryCounts(read=51, new=38, duplicate=6, rejected=7)
    assert len(settled) > 5
    columns = "read_count, new_count, duplicate_count, rejected_count"
    assert table(ledger, "deliveries", columns) == [(51, 38, 6, 7)]
    assert table(ledger, "rejects", "distinct delivery_id, reason") == [(1, "no JSON")]
    assert table(ledger, "duckdb_tables() where temporary", "table_name") == []
    monkeypatch.setattr(hold, "PART_RECORDS", 1_000)
    with open_for_writing(None) as at_once:
        assert deliver(at_once, source, given, Configuration()) == counts
        assert content(ledger) == content(at_once)


@pytest.mark.usefixtures("small_parts")
def test_each_trace_is_derived_once_wherever_its_spans_stand(
    ledger: Ledger, source: Source, reader_of: MakeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived: list[tuple[str, int]] = []
    derive = stage.derive_trace

    def noted(spans: list[Span], configuration: Configuration) -> Any:
        derived.append((spans[0].trace_id, len(spans)))
        return derive(spans, configuration)

    monkeypatch.setattr(stage, "derive_trace", noted)
    deliver(ledger, source, reader_of(shuffled(12)), Configuration())
    assert sorted(derived) == [(f"{trace:032x}", SPANS_PER_TRACE) for trace in range(1, 13)]


@pytest.mark.usefixtures("small_parts")
def test_after_a_crash_the_ledger_has_whole_parts_and_delivering_again_adds_the_others(
    ledger: Ledger, source: Source, reader_of: MakeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = shuffled(10)
    with monkeypatch.context() as broken:
        keep, kept = stage.mark_stale, []

        def fails_late(*given: Any) -> None:
            kept.append(given)
            if len(kept) == 3:
                raise KeyboardInterrupt
            keep(*given)

        broken.setattr(stage, "mark_stale", fails_late)
        with pytest.raises(KeyboardInterrupt):
            deliver(ledger, source, reader_of(spans), Configuration())
    ((read, new, duplicate, rejected),) = table(
        ledger, "deliveries", "read_count, new_count, duplicate_count, rejected_count"
    )
    assert (read, new, duplicate, rejected) == (12, 12, 0, 0)
    assert len(table(ledger, "spans")) == 12
    assert len(table(ledger, "calls")) == 8
    counts = deliver(ledger, source, reader_of(spans), Configuration())
    assert counts == DeliveryCounts(read=30, new=18, duplicate=12)
    with open_for_writing(None) as undisturbed:
        deliver(undisturbed, source, reader_of(spans), Configuration())
        assert content(ledger) == content(undisturbed)


class BreakingReader:
    name = title = recognised_by = "breaking"

    def recognise(self, head: bytes, source: Source) -> bool:
        return True

    def read(self, source: Source) -> Iterator[Batch]:
        for trace in range(1, 11):
            yield Batch(spans=spans_of(trace))
        raise source.refusal("a truncated gzip file")


@pytest.mark.usefixtures("small_parts")
def test_of_a_large_source_that_breaks_at_its_end_nothing_is_taken(
    ledger: Ledger, source: Source
) -> None:
    with pytest.raises(Exception, match="truncated gzip"):
        deliver(ledger, source, BreakingReader(), Configuration())
    assert [table(ledger, name) for name in ("spans", "calls", "deliveries")] == [[], [], []]


def test_long_texts_make_small_parts(
    ledger: Ledger,
    source: Source,
    reader_of: MakeReader,
    settled: list[DeliveryCounts],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hold, "PART_BYTES", 10_000)
    calls = [
        Call(identity=f"record:{n}", timing_source="engine", prompt="long " * 1_000)
        for n in range(9)
    ]
    deliver(ledger, source, reader_of((), calls), Configuration(content="full"))
    assert [counts.new for counts in settled] == [2, 2, 2, 2, 1]


def test_what_a_map_changes_is_derived_again_in_parts(
    ledger: Ledger,
    source: Source,
    reader_of: MakeReader,
    settled: list[DeliveryCounts],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deliver(ledger, source, reader_of(shuffled(10)), Configuration())
    monkeypatch.setattr("ingest.deliver.PART_RECORDS", 6)
    settled.clear()
    derive_again(ledger, Configuration(map={"team": ("resource.service.name",)}))
    assert len(settled) == 5
    assert table(ledger, "calls", "distinct team") == [("shop",)]
    assert len(table(ledger, "calls")) == 20
    assert table(ledger, "duckdb_tables() where temporary", "table_name") == []
