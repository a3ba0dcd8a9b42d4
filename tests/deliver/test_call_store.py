"""Calls into the ledger: one row a call, numbers that are never given twice, cohorts that stay."""

from decimal import Decimal
from hashlib import blake2b
from typing import Any

import pytest

from ingest.ledger import Ledger
from ingest.records import Call, Span
from ingest.store.calls import CallStage, call_id_of, merge_calls
from ingest.store.deliveries import MergeCounts
from ingest.store.spans import merge_spans, span_table, spans_of_touched_traces, stage_span_table
from ingest.store.statements import statement

TRACE = "a" * 32
SPAN = Span(trace_id=TRACE, span_id="1" * 16, name="chat", started_at=1, ended_at=2)


def call(identity: str = "record:1", **fields: Any) -> Call:
    return Call(identity=identity, **{"timing_source": "engine", **fields})


def merged(
    ledger: Ledger, *calls: Call, derived: tuple[Call, ...] = (), spans: tuple[Span, ...] = ()
) -> MergeCounts:
    connection = ledger.connection
    connection.execute(statement("stage"))
    stage = CallStage(connection, 1)
    table, _ = span_table(spans, spans, key=b"")
    stage_span_table(connection, table, delivery_id=1)
    merge_spans(connection)
    assert not stage.add(calls, is_derived=False)
    for _ in spans_of_touched_traces(connection):
        assert not stage.add(derived, is_derived=True)
    return merge_calls(connection)


def rows(ledger: Ledger, columns: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(f"select {columns} from calls order by call_no").fetchall()


def test_a_call_id_is_the_128_bit_hash_of_the_identity() -> None:
    expected = blake2b(b"span:aa:bb", digest_size=16).hexdigest()
    assert call_id_of("span:aa:bb") == expected
    assert len(expected) == 32


def test_an_exported_call_keeps_its_call_id() -> None:
    exported = call_id_of("span:aa:bb")
    assert call_id_of(f"call_id:{exported}") == exported


def test_a_retry_names_the_call_id_of_the_first_attempt(ledger: Ledger) -> None:
    merged(ledger, call("record:1"), call("record:2", attempt=2, retry_of="record:1"))
    first, second = rows(ledger, "call_id, retry_of")
    assert first[1] is None
    assert second[1] == first[0] == call_id_of("record:1")


def test_a_record_is_stored_in_the_columns_of_its_fields(ledger: Ledger) -> None:
    counts = merged(
        ledger,
        call(
            model="m",
            team="search",
            started_at=5,
            uncached_input_tokens=10,
            cache_read_tokens=3,
            visible_output_tokens=4,
            prefix_hashes=(1, -2),
            reported_cost=Decimal("0.0000000015"),
            stream=True,
        ),
    )
    assert counts == MergeCounts(read=1, new=1, conflict=0)
    columns = (
        "call_id, model, team, started_at, input_tokens, output_tokens, prefix_hashes, "
        "reported_cost, stream, ended_at"
    )
    assert rows(ledger, columns) == [
        (
            call_id_of("record:1"),
            "m",
            "search",
            5,
            13,
            4,
            [1, -2],
            Decimal("0.000000002"),
            True,
            None,
        )
    ]


def test_the_fuller_record_stays_in_either_order(ledger: Ledger) -> None:
    fuller, other = call(model="m", team="t"), call(model="n")
    for first, second in ((fuller, other), (other, fuller)):
        ledger.connection.execute("delete from call_rows")
        merged(ledger, first)
        assert merged(ledger, second) == MergeCounts(read=1, new=0, conflict=1)
        assert rows(ledger, "model, team") == [("m", "t")]


def test_a_record_delivered_twice_is_one_call_and_keeps_its_number(ledger: Ledger) -> None:
    merged(ledger, call(), call("record:2"))
    before = rows(ledger, "call_no, call_id")
    assert merged(ledger, call("record:2"), call()) == MergeCounts(read=2, new=0, conflict=0)
    assert rows(ledger, "call_no, call_id") == before


def test_a_cohort_keeps_its_id_when_others_come(ledger: Ledger) -> None:
    merged(ledger, call("1", team="search"))
    merged(ledger, call("2", team="ads"), call("3", team="search"))
    assert rows(ledger, "team, cohort_id") == [("search", 1), ("ads", 2), ("search", 1)]
    assert ledger.connection.execute("select count(*) from cohorts").fetchall() == [(2,)]


def test_a_number_is_not_given_twice_even_after_its_call_is_gone(ledger: Ledger) -> None:
    merged(ledger, call("1"))
    merged(ledger, call("1", model="m"))
    assert rows(ledger, "call_no") == [(2,)]
    ledger.connection.execute("delete from call_rows")
    merged(ledger, call("2"))
    assert rows(ledger, "call_no") == [(3,)]


def test_a_derived_call_replaces_what_its_trace_gave_before(ledger: Ledger) -> None:
    ids = {"trace_id": TRACE, "span_id": "1" * 16}
    merged(ledger, spans=(SPAN,), derived=(call("span:1", model="m", team="t", **ids),))
    later = Span(trace_id=TRACE, span_id="2" * 16, name="inner", started_at=1, ended_at=2)
    inner = call("span:2", model="m", trace_id=TRACE, span_id="2" * 16)
    merged(ledger, spans=(later,), derived=(inner,))
    assert rows(ledger, "call_id, team") == [(call_id_of("span:2"), None)]


def test_a_derived_call_that_did_not_change_keeps_its_number(ledger: Ledger) -> None:
    derived = call("span:1", trace_id=TRACE, span_id="1" * 16)
    merged(ledger, spans=(SPAN,), derived=(derived,))
    later = Span(trace_id=TRACE, span_id="2" * 16, name="other", started_at=1, ended_at=2)
    merged(ledger, spans=(later,), derived=(derived,))
    assert rows(ledger, "call_no") == [(1,)]
    assert ledger.connection.execute("select count(*) from touched_calls").fetchall() == [(0,)]


def test_where_the_span_is_known_it_speaks_in_either_order(ledger: Ledger) -> None:
    ids = {"trace_id": TRACE, "span_id": "1" * 16}
    derived = call("span:1", model="m", **ids)
    record = call(f"call_id:{call_id_of('span:1')}", model="m", team="told", **ids)
    merged(ledger, spans=(SPAN,), derived=(derived,))
    assert merged(ledger, record) == MergeCounts(read=1, new=0, conflict=1)
    assert rows(ledger, "model, team") == [("m", None)]
    ledger.connection.execute("delete from call_rows; delete from spans")
    assert merged(ledger, record) == MergeCounts(read=1, new=1, conflict=0)
    merged(ledger, spans=(SPAN,), derived=(derived,))
    assert rows(ledger, "model, team") == [("m", None)]


def test_touched_calls_are_those_that_entered_and_those_that_left(ledger: Ledger) -> None:
    merged(ledger, call("1", started_at=10, ended_at=20), call("2", started_at=30, ended_at=40))
    merged(ledger, call("1", started_at=15, ended_at=25, replica="r"))
    found = ledger.connection.execute(
        "select replica, started_at, ended_at from touched_calls order by started_at"
    ).fetchall()
    assert found == [(None, 10, 20), ("r", 15, 25)]


@pytest.mark.parametrize(
    "bad",
    [
        call("bad", uncached_input_tokens=2**64),
        call("bad", http_status=2**40),
        call("bad", endpoint="\ud800"),
        call("bad", reported_cost=Decimal("NaN")),
        call("bad", reported_cost=Decimal("1e15")),
    ],
)
def test_a_call_that_no_column_can_hold_is_rejected_alone(ledger: Ledger, bad: Call) -> None:
    ledger.connection.execute(statement("stage"))
    stage = CallStage(ledger.connection, 1)
    (reject,) = stage.add([call("1"), bad, call("2")], is_derived=False)
    assert reject.position == "call bad"


def test_texts_are_kept_apart_from_the_call(ledger: Ledger) -> None:
    merged(ledger, call("1", prompt="hello", completion="hi"), call("2"))
    found = ledger.connection.execute("select * from contents").fetchall()
    assert found == [(call_id_of("1"), "hello", "hi")]
