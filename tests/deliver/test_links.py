"""Views of one call that no trace joins: one call in the ledger, whatever came first."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.charging import charge
from ingest.config import Configuration, Pool
from ingest.deliver import deliver
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Call, Span

MakeReader = Callable[..., Any]
S = 1_000_000_000
T0 = 1_800_000_000 * S
CHARGED = Configuration(pools=(Pool(name="chat", models=("m",)),))
CALL_COLUMNS = "* exclude (call_no, cohort_id, delivery_id)"
CHARGE_COLUMNS = "call_id, quarter, round(prefill_gpu_seconds, 9), round(decode_gpu_seconds, 9)"


def told(
    trace: int,
    service: str,
    at_s: tuple[float, float],
    *,
    answer: str | None = None,
    counts: tuple[int | None, int | None] = (1000, 200),
    **attributes: Any,
) -> Span:
    """What the client `service` tells of one chat, in a trace of its own."""
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": answer,
        "gen_ai.usage.input_tokens": counts[0],
        "gen_ai.usage.output_tokens": counts[1],
        **attributes,
    }
    return Span(
        trace_id=f"{trace:032x}",
        span_id=f"{trace:016x}",
        name="chat m",
        kind="client",
        started_at=T0 + round(at_s[0] * S),
        ended_at=T0 + round(at_s[1] * S),
        service=service,
        attributes={name: value for name, value in said.items() if value is not None},
    )


def engine(trace: int, at_s: tuple[float, float], **attributes: Any) -> Span:
    """What vLLM tells of one request that brought no trace: no model, and its own times."""
    latency = {
        "gen_ai.latency.time_in_queue": 1.0,
        "gen_ai.latency.time_in_model_prefill": 2.0,
        "gen_ai.latency.time_in_model_decode": 4.0,
        "gen_ai.latency.time_to_first_token": 3.0,
        "gen_ai.latency.e2e": 7.0,
    }
    span = told(trace, "vllm", at_s, **{**latency, **attributes})
    said = {k: v for k, v in span.attributes.items() if k not in {"gen_ai.request.model"}}
    return replace(span, name="llm_request", kind="server", scope="vllm", attributes=said)


GATEWAY_LOG = Call(
    identity="gateway:1",
    timing_source="span",
    arrived_at=T0 + S // 2,
    started_at=T0 + S // 2,
    ended_at=T0 + 9 * S + S // 2,
    uncached_input_tokens=1000,
    visible_output_tokens=200,
    model="m",
    team="support",
    response_id="r1",
    reported_cost=Decimal("0.006"),
    reported_currency="USD",
)


@pytest.fixture
def take(ledger: Ledger, source: Source, reader_of: MakeReader) -> Callable[..., None]:
    """Delivers spans and calls together, and charges them."""

    def taken(*records: Span | Call) -> None:
        spans = [record for record in records if isinstance(record, Span)]
        calls = [record for record in records if isinstance(record, Call)]
        deliver(ledger, source, reader_of(spans, calls), CHARGED)
        charge(ledger, CHARGED)

    return taken


def rows(ledger: Ledger, columns: str, name: str = "calls") -> list[tuple[Any, ...]]:
    return ledger.connection.execute(f"select {columns} from {name} order by all").fetchall()


def test_three_observers_without_a_trace_in_common_are_one_call(ledger: Ledger, take: Any) -> None:
    app = told(1, "shop", (0, 10), answer="r1", **{"gen_ai.prompt.name": "answer"})
    for record in (engine(3, (1, 9)), GATEWAY_LOG, app):
        take(record)
    columns = "pairing, timing_source, input_tokens, output_tokens, endpoint, team, model"
    assert rows(ledger, columns) == [
        ("probable", "engine", 1000, 200, "answer", "support", "m"),
    ]
    assert rows(ledger, "service, reported_cost, trace_id") == [
        ("shop", Decimal("0.006"), f"{3:032x}")
    ]
    assert rows(ledger, "count(*), count(distinct counted_as)", "call_views") == [(3, 1)]
    charged = rows(ledger, "round(sum(prefill_gpu_seconds + decode_gpu_seconds), 9)", "charges")
    assert charged == [(6.0,)]


def test_the_id_of_the_answer_alone_makes_the_pair_sure(ledger: Ledger, take: Any) -> None:
    take(told(1, "shop", (0, 10), answer="r1"), told(2, "shop", (20, 30), answer="r2"), GATEWAY_LOG)
    assert rows(ledger, "pairing, response_id") == [("response_id", "r1"), ("single", "r2")]


def test_counts_that_disagree_under_one_id_are_noted(ledger: Ledger, take: Any) -> None:
    take(told(1, "shop", (0, 10), answer="r1", counts=(1010, 200)), GATEWAY_LOG)
    assert rows(ledger, "input_tokens, tokens_note") == [
        (1000, "views disagree on input_tokens: 1000, 1010")
    ]


def test_an_answer_that_a_cache_gives_again_later_is_a_call_of_its_own(
    ledger: Ledger, take: Any
) -> None:
    take(told(1, "shop", (0, 10), answer="r1"), told(2, "web", (60, 60.1), answer="r1"))
    assert rows(ledger, "pairing") == [("single",), ("single",)]


def test_an_id_that_one_service_gives_to_many_calls_joins_none(ledger: Ledger, take: Any) -> None:
    take(*[told(n, "shop", (n, n + 10), answer="mock") for n in range(1, 5)], GATEWAY_LOG)
    assert rows(ledger, "count(*)") == [(5,)]


@pytest.mark.parametrize(
    "other",
    [
        told(2, "gateway", (1, 11)),
        told(2, "gateway", (1, 9), counts=(1000, 201)),
        told(2, "gateway", (1, 9), **{"gen_ai.request.model": "n"}),
        told(2, "gateway", (1, 9), answer="r2"),
        told(2, "shop", (1, 9)),
        told(2, "gateway", (1, 9), counts=(None, None)),
    ],
    ids=["overlap alone", "counts", "model", "another answer", "one observer", "unknown counts"],
)
def test_what_does_not_resemble_in_every_point_stays_apart(
    ledger: Ledger, take: Any, other: Span
) -> None:
    take(told(1, "shop", (0, 10), answer="r1"), other)
    assert rows(ledger, "pairing") == [("single",), ("single",)]


def test_of_two_that_could_be_meant_neither_is(ledger: Ledger, take: Any) -> None:
    take(told(1, "shop", (0, 10)), engine(3, (1, 9)))
    assert rows(ledger, "pairing") == [("probable",)]
    take(told(2, "shop", (0.5, 9.5)))
    assert rows(ledger, "pairing") == [("single",)] * 3
    assert rows(ledger, "count(*)", "call_views") == [(0,)]


def test_two_clients_around_one_engine_call_are_not_all_one_call(ledger: Ledger, take: Any) -> None:
    take(told(1, "shop", (0, 10)), told(2, "web", (0.5, 11)), engine(3, (1, 9)))
    assert rows(ledger, "pairing") == [("single",)] * 3


def test_a_view_that_is_told_anew_is_judged_anew(ledger: Ledger, take: Any) -> None:
    partial = told(1, "shop", (0, 10), counts=(1000, None))
    take(partial, engine(3, (1, 9)))
    assert rows(ledger, "count(*)") == [(2,)]
    take(told(1, "shop", (0, 10)))
    assert rows(ledger, "pairing") == [("probable",)]
    take(replace(told(1, "shop", (0, 12), counts=(1000, 300)), status="ok"))
    assert rows(ledger, "output_tokens, pairing") == [(200, "single"), (300, "single")]


def views() -> st.SearchStrategy[Span]:
    """Views of few services, times, counts and answers, so that they often resemble."""
    at = st.tuples(st.integers(0, 3), st.integers(7, 10))
    told_by_clients = st.builds(
        lambda trace, service, at_s, answer, output: told(
            trace, service, at_s, answer=answer, counts=(1000, output)
        ),
        st.integers(1, 5),
        st.sampled_from(["shop", "web", "gateway"]),
        at,
        st.sampled_from([None, None, "r1", "r2"]),
        st.sampled_from([200, 200, 201, None]),
    )
    return st.one_of(told_by_clients, st.builds(engine, st.integers(6, 7), at))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data(), given_views=st.lists(views(), min_size=2, max_size=6), has_log=st.booleans())
def test_any_order_and_any_cuts_join_the_same_views(
    data: st.DataObject,
    given_views: Sequence[Span],
    has_log: bool,
    source: Source,
    reader_of: MakeReader,
) -> None:
    records: list[Span | Call] = [*given_views, *([GATEWAY_LOG] if has_log else [])]
    ledgers = []
    for is_shuffled in (False, True):
        parts = [records]
        if is_shuffled:
            order = data.draw(st.permutations(records))
            cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=3)))
            edges = [0, *cuts, len(order)]
            parts = [order[a:b] for a, b in pairwise(edges)]
        with open_for_writing(None) as ledger:
            for part in parts:
                spans = [one for one in part if isinstance(one, Span)]
                calls = [one for one in part if isinstance(one, Call)]
                deliver(ledger, source, reader_of(spans, calls), CHARGED)
                if data.draw(st.booleans()):
                    charge(ledger, CHARGED)
            charge(ledger, CHARGED)
            charged = "charges inner join call_rows using (call_no)"
            ledgers.append(
                (
                    rows(ledger, CALL_COLUMNS),
                    rows(ledger, "call_id, counted_as, rule", "call_views"),
                    rows(ledger, CHARGE_COLUMNS, charged),
                )
            )
    assert ledgers[0] == ledgers[1]
