"""Spans into the ledger: one row a span, the fullest version, whatever the order."""

from itertools import permutations
from typing import Any

import pytest

from ingest.ledger import Ledger
from ingest.records import Span, SpanEvent
from ingest.store import spans as span_store
from ingest.store.deliveries import MergeCounts
from ingest.store.spans import merge_spans, span_table, spans_of_touched_traces, stage_span_table
from ingest.store.statements import statement

TRACE = "a" * 32


def span(span_id: str = "1" * 16, **fields: Any) -> Span:
    defaults: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": span_id,
        "name": "chat",
        "started_at": 1_000,
        "ended_at": 2_000,
    }
    return Span(**{**defaults, **fields})


def merged(ledger: Ledger, *spans: Span, delivery_id: int = 1) -> MergeCounts:
    ledger.connection.execute(statement("stage"))
    table, _ = span_table(spans, spans, key=b"")
    stage_span_table(ledger.connection, table, delivery_id=delivery_id)
    return merge_spans(ledger.connection)


def stored(ledger: Ledger, columns: str = "*") -> list[tuple[Any, ...]]:
    text = f"select {columns} from spans order by trace_id, span_id"
    return ledger.connection.execute(text).fetchall()


def test_a_span_is_stored_as_it_was_received(ledger: Ledger) -> None:
    merged(
        ledger,
        span(
            parent_span_id="2" * 16,
            kind="client",
            status="error",
            status_message="too long",
            service="shop",
            scope="sdk",
            attributes={"b": 1, "a": [True, None, "é"]},
            resource={"service.name": "shop"},
            events=[SpanEvent(name="first", at=1_500, attributes={"n": 1})],
        ),
    )
    (row,) = stored(ledger, "* exclude (digest)")
    assert row == (
        TRACE,
        "1" * 16,
        "2" * 16,
        "chat",
        "client",
        1_000,
        2_000,
        "error",
        "too long",
        "shop",
        "sdk",
        '{"a":[true,null,"é"],"b":1}',
        '{"service.name":"shop"}',
        '[{"at":1500,"attributes":{"n":1},"name":"first"}]',
        13,
        1,
    )


def test_the_same_span_again_is_a_duplicate_and_no_conflict(ledger: Ledger) -> None:
    first = span(attributes={"a": 1, "b": 2})
    again = span(attributes={"b": 2, "a": 1})
    assert merged(ledger, first) == MergeCounts(read=1, new=1, conflict=0)
    assert merged(ledger, again, again) == MergeCounts(read=2, new=0, conflict=0)
    assert len(stored(ledger)) == 1


def test_repetition_inside_one_delivery_counts_once_as_new(ledger: Ledger) -> None:
    same = span()
    assert merged(ledger, same, same, same) == MergeCounts(read=3, new=1, conflict=0)


VERSIONS = {
    "fuller": (span(attributes={"x": 1, "y": 2}), span(attributes={"x": 9})),
    "later end": (span(ended_at=3_000), span(ended_at=2_000)),
    "known end over none": (span(status="ok"), span(ended_at=None, status="ok", scope="s")),
    "larger usage": (
        span(attributes={"gen_ai.usage.output_tokens": 20}),
        span(attributes={"gen_ai.usage.output_tokens": 9}),
    ),
}


@pytest.mark.parametrize("rule", VERSIONS)
def test_of_two_versions_the_same_one_stays_in_either_order(ledger: Ledger, rule: str) -> None:
    winner, loser = VERSIONS[rule]
    for first, second in ((winner, loser), (loser, winner)):
        ledger.connection.execute("delete from spans")
        assert merged(ledger, first).new == 1
        assert merged(ledger, second) == MergeCounts(read=1, new=0, conflict=1)
        rows = stored(ledger, "ended_at, attributes")
        assert rows == [(winner.ended_at, span_store._json(winner.attributes).decode())]


def test_versions_that_tie_in_all_else_give_one_row_for_all_orders(ledger: Ledger) -> None:
    versions = [span(name=name) for name in ("a", "b", "c")]
    outcomes = set()
    for order in permutations(versions):
        ledger.connection.execute("delete from spans")
        for version in order:
            merged(ledger, version)
        outcomes.add(tuple(stored(ledger, "name")))
    assert len(outcomes) == 1


def test_a_resent_span_with_another_start_is_found(ledger: Ledger) -> None:
    merged(ledger, span(started_at=1_000, ended_at=None))
    counts = merged(ledger, span(started_at=900_000_000_000, ended_at=900_000_000_001))
    assert counts == MergeCounts(read=1, new=0, conflict=1)
    assert stored(ledger, "started_at") == [(900_000_000_000,)]


def test_equal_span_ids_of_two_traces_are_two_spans(ledger: Ledger) -> None:
    assert merged(ledger, span(), span(trace_id="b" * 32)).new == 2


@pytest.mark.parametrize(
    "bad",
    [
        span("9" * 16, attributes={"count": 2**70}),
        span("9" * 16, name="\ud800"),
        span("9" * 16, started_at=2**63),
    ],
)
def test_a_span_that_no_column_can_hold_is_rejected_alone(ledger: Ledger, bad: Span) -> None:
    ledger.connection.execute(statement("stage"))
    spans = [span(), bad, span("2" * 16)]
    table, (reject,) = span_table(spans, spans, key=b"")
    stage_span_table(ledger.connection, table, delivery_id=1)
    assert reject.position == f"span {TRACE}/{'9' * 16}"
    assert merge_spans(ledger.connection) == MergeCounts(read=2, new=2, conflict=0)


def test_traces_are_read_again_whole_in_chunks(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_store, "CHUNK_SPANS", 3)
    spans = [
        span(f"{number:016x}", trace_id=f"{number % 4:032x}", events=[SpanEvent(name="e", at=None)])
        for number in range(20)
    ]
    merged(ledger, *spans)
    chunks = list(spans_of_touched_traces(ledger.connection))
    assert [[len(trace) for trace in chunk] for chunk in chunks] == [[5], [5], [5], [5]]
    read = [one for chunk in chunks for trace in chunk for one in trace]
    assert sorted(read, key=lambda s: s.span_id) == [
        span(s.span_id, trace_id=s.trace_id, events=(SpanEvent(name="e", at=None),)) for s in spans
    ]


def test_only_traces_with_a_new_or_a_fuller_span_are_touched(ledger: Ledger) -> None:
    merged(ledger, span(trace_id="b" * 32), span(trace_id="c" * 32), span(trace_id="d" * 32))
    merged(
        ledger,
        span(trace_id="b" * 32),
        span(trace_id="c" * 32, status="ok"),
        span("2" * 16, trace_id="d" * 32),
    )
    chunks = list(spans_of_touched_traces(ledger.connection))
    touched = {(one.trace_id[0], one.span_id[0]) for c in chunks for trace in c for one in trace}
    assert touched == {("c", "1"), ("d", "1"), ("d", "2")}
