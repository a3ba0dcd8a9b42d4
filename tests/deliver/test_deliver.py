"""One delivery: counted, whole or not at all, and the same ledger whatever the order."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import hold
from ingest.charging import charge
from ingest.config import Configuration, Pool
from ingest.deliver import DeliveryCounts, deliver, derive_again
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Batch, Call, Reject, Span

MakeReader = Callable[..., Any]
NOW = 1_800_000_000_000_000_000
EXCLUDED = "* exclude (delivery_id)"
CHARGE_COLUMNS = "call_id, quarter, round(prefill_gpu_seconds, 9), round(decode_gpu_seconds, 9)"
CHARGED = Configuration(pools=(Pool(name="chat", models=("m",)),))
CALL_COLUMNS = "* exclude (call_no, cohort_id, delivery_id)"


def chat(trace: int, number: int, parent: int | None = None, **fields: Any) -> Span:
    defaults: dict[str, Any] = {
        "kind": "client",
        "ended_at": NOW + 2_000_000_000,
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10,
        },
    }
    return Span(
        trace_id=f"{trace:032x}",
        span_id=f"{number:016x}",
        parent_span_id=None if parent is None else f"{parent:016x}",
        name="chat m",
        started_at=NOW,
        resource={"service.name": "shop"},
        **{**defaults, **fields},
    )


def route(trace: int, number: int, path: str) -> Span:
    return chat(trace, number, kind="server", attributes={"http.route": path})


def table(ledger: Ledger, name: str, columns: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(f"select {columns} from {name} order by all").fetchall()


def test_counts_add_up_and_are_stored(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    reader = reader_of([chat(1, 1), chat(1, 1), chat(2, 2)])
    reader.batches += [Batch(rejects=[Reject(position="line 4", reason="no JSON", record="{")])]
    counts = deliver(ledger, source, reader, Configuration(), clock=lambda: NOW)
    assert counts == DeliveryCounts(read=4, new=2, duplicate=1, rejected=1, conflict=0)
    checksum = sha256(b"by hand").hexdigest()
    assert table(ledger, "deliveries", "*") == [
        (1, "by-hand.json", "by-hand", checksum, NOW, 4, 2, 1, 1, 0, 0)
    ]
    assert table(ledger, "rejects", "delivery_id, position, reason") == [(1, "line 4", "no JSON")]


def test_the_same_delivery_again_adds_nothing(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    spans = [route(1, 1, "/ask"), chat(1, 2, parent=1)]
    deliver(ledger, source, reader_of(spans), Configuration())
    before = table(ledger, "calls", "*")
    counts = deliver(ledger, source, reader_of(spans), Configuration())
    assert counts == DeliveryCounts(read=2, new=0, duplicate=2, rejected=0, conflict=0)
    assert table(ledger, "calls", "*") == before


def test_a_late_parent_names_the_endpoint_of_calls_that_are_there(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    deliver(ledger, source, reader_of([chat(1, 2, parent=1), chat(2, 3)]), Configuration())
    untouched = table(ledger, "calls", "call_no, trace_id")[1]
    deliver(ledger, source, reader_of([route(1, 1, "/ask")]), Configuration())
    assert table(ledger, "calls", "trace_id, endpoint")[0] == (f"{1:032x}", "/ask")
    assert untouched in table(ledger, "calls", "call_no, trace_id")


class BreakingReader:
    name = title = recognised_by = "breaking"

    def recognise(self, head: bytes, source: Source) -> bool:
        return True

    def read(self, source: Source) -> Iterator[Batch]:
        yield Batch(spans=[chat(7, 7)], rejects=[Reject(position="line 1", reason="bad")])
        raise source.refusal("a truncated gzip file")


def test_a_source_that_breaks_leaves_the_ledger_as_it_was(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    deliver(ledger, source, reader_of([chat(1, 1)]), Configuration())
    names = ("spans", "calls", "cohorts", "deliveries", "rejects", "charge_partitions")
    before = [table(ledger, name, "*") for name in names]
    with pytest.raises(Exception, match="truncated gzip"):
        deliver(ledger, source, BreakingReader(), Configuration())
    assert [table(ledger, name, "*") for name in names] == before
    counts = deliver(ledger, source, reader_of([chat(7, 7)]), Configuration())
    assert counts.new == 1


def test_nothing_temporary_is_left_behind(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    deliver(
        ledger,
        source,
        reader_of([chat(1, 1)], [Call(identity="1", timing_source="span")]),
        Configuration(),
    )
    assert table(ledger, "duckdb_tables() where temporary", "table_name") == []


def test_another_map_derives_the_calls_of_every_trace_again(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    span = chat(1, 1, scope="sdk")
    deliver(ledger, source, reader_of([span]), Configuration())
    assert table(ledger, "calls", "team") == [(None,)]
    derive_again(ledger, Configuration(map={"team": ("resource.service.name",)}))
    assert table(ledger, "calls", "team") == [("shop",)]


def test_content_is_stored_only_where_the_setting_is_full(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    said = {**chat(1, 1).attributes, "gen_ai.prompt": "hello"}
    span = chat(1, 1, attributes=said)
    deliver(ledger, source, reader_of([span]), Configuration())
    assert table(ledger, "contents", "*") == []
    assert "hello" not in table(ledger, "spans", "attributes")[0][0]
    with open_for_writing(None) as other:
        deliver(other, source, reader_of([span]), Configuration(content="full"))
        assert "hello" in table(other, "contents", "prompt")[0][0]
        assert table(other, "calls", "input_hash") == table(ledger, "calls", "input_hash")


def versions() -> st.SearchStrategy[Span]:
    """Spans of two traces that often share an identity and differ in what they say."""
    extra = st.dictionaries(
        st.sampled_from(["gen_ai.usage.output_tokens", "team"]),
        st.sampled_from([5, 6, "x"]),
        max_size=2,
    )
    return st.builds(
        lambda trace, number, parent, end, more, is_route: chat(
            trace,
            number,
            parent=None if parent == number else parent,
            ended_at=None if end is None else NOW + end,
            attributes={**({"http.route": "/ask"} if is_route else chat(1, 1).attributes), **more},
            kind="server" if is_route else "client",
        ),
        st.integers(1, 2),
        st.integers(1, 4),
        st.integers(1, 4),
        st.sampled_from([None, 1_000, 2_000]),
        extra,
        st.booleans(),
    )


def records() -> st.SearchStrategy[Call]:
    """Records of calls, some of which are calls of those spans."""
    return st.builds(
        lambda trace, number, model, tokens: Call(
            identity=f"span:{trace:032x}:{number:016x}",
            timing_source="engine",
            trace_id=f"{trace:032x}",
            span_id=f"{number:016x}",
            model=model,
            uncached_input_tokens=tokens,
        ),
        st.integers(1, 3),
        st.integers(1, 4),
        st.sampled_from([None, "m", "n"]),
        st.sampled_from([None, 7, 8]),
    )


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    data=st.data(),
    given_spans=st.lists(versions(), max_size=8),
    given_calls=st.lists(records(), max_size=4),
)
def test_any_order_splitting_and_repetition_gives_the_same_ledger(  # noqa: PLR0917 - fixtures
    data: st.DataObject,
    given_spans: list[Span],
    given_calls: list[Call],
    source: Source,
    reader_of: MakeReader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledgers = []
    for is_shuffled in (False, True):
        monkeypatch.setattr(hold, "PART_RECORDS", data.draw(st.sampled_from([2, 8_000])))
        everything: list[Span | Call] = [*given_spans, *given_calls]
        if is_shuffled:
            repeated = data.draw(
                st.lists(st.sampled_from(everything), max_size=4) if everything else st.just([])
            )
            everything = data.draw(st.permutations(everything + repeated))
        cut = data.draw(st.integers(0, len(everything)))
        with open_for_writing(None) as ledger:
            new_count = 0
            for part in (everything[:cut], everything[cut:]):
                spans = [one for one in part if isinstance(one, Span)]
                calls = [one for one in part if isinstance(one, Call)]
                counts = deliver(ledger, source, reader_of(spans, calls), CHARGED)
                if data.draw(st.booleans()):
                    charge(ledger, CHARGED)
                assert counts.read == counts.new + counts.duplicate + counts.rejected
                assert counts.conflict <= counts.duplicate
                new_count += counts.new
            charge(ledger, CHARGED)
            charged = "charges inner join call_rows using (call_no)"
            ledgers.append(
                (
                    table(ledger, "spans", EXCLUDED),
                    table(ledger, "calls", CALL_COLUMNS),
                    table(ledger, charged, CHARGE_COLUMNS),
                )
            )
            assert len(ledgers[-1][0]) <= new_count
    assert ledgers[0] == ledgers[1]
