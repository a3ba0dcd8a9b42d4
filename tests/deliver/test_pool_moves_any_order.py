"""Calls and configurations in any order, again and again: the ledger that all at once makes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.charging import charge
from ingest.config import Configuration, Pool, TokenPrice
from ingest.deliver import deliver
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Call

MakeReader = Callable[..., Any]
S = 1_000_000_000
DAY = 86_400 * S
BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
T = 20_727 * DAY  # the instant of BEGIN
PRICE = TokenPrice(model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(2))


def configured(*entries: tuple[str, int | None, tuple[str, ...]]) -> Configuration:
    """Entries of pools: the name, from how many days after T on, and the models listed."""
    pools = tuple(
        Pool(
            name=name,
            models=models,
            gpus_per_replica=1 if name == "a" else 2,
            effective_from=None if days is None else BEGIN + timedelta(days=days),
        )
        for name, days, models in entries
    )
    return Configuration(pools=pools, token_prices=(PRICE,))


CONFIGURATIONS = [
    configured(),
    configured(("a", None, ("m",))),
    configured(("a", None, ("m",)), ("b", 0, ("m",))),
    configured(("a", None, ("m",)), ("a", 0, ())),
    configured(("a", -1, ("m",)), ("b", 0, ("m", "n")), ("a", 1, ("m",))),
    configured(("a", None, ()), ("a", 0, ("m",)), ("b", 1, ("n",))),
    configured(("b", None, ("m",)), ("a", 1, ("m", "n"))),
]


TIMES = {"arrived_at": -S, "started_at": 0, "first_token_at": S, "ended_at": 4 * S}
"""The instants of a call, from its day on: it may wait and be served on two sides of a move."""

TOLD = [
    ("arrived_at", "started_at", "first_token_at", "ended_at"),
    ("arrived_at", "started_at", "first_token_at", "ended_at"),
    ("started_at", "ended_at"),
    ("arrived_at",),
    ("ended_at",),
    (),
]


def served() -> st.SearchStrategy[Call]:
    """Calls around the moves: few identities in several versions, with more or fewer times told."""
    return st.builds(
        lambda identity, day, told, model, source, dimensions: Call(
            identity=f"{identity}",
            timing_source=source,
            timing_quality="ok" if "started_at" in told else "unknown",
            model=model,
            replica="r0" if identity % 2 else None,
            uncached_input_tokens=100,
            visible_output_tokens=100 + identity,
            **{name: T + day * DAY + TIMES[name] for name in told},
            **dimensions,
        ),
        st.integers(1, 8),
        st.sampled_from([0, 1, -1]),
        st.sampled_from(TOLD),
        st.sampled_from(["m", "m", "m", "n", None]),
        st.sampled_from(["stream", "engine", "span", "tokens"]),
        st.sampled_from(
            [{}, {}, {}, {"model_requested": "n"}, {"pool_reported": "a"}, {"origin": "replay"}]
        ),
    )


def rows(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(sql).fetchall()


def orphans(ledger: Ledger) -> int:
    """Rows whose call or cohort is not there, and calls that are charged both ways."""
    [(count,)] = rows(
        ledger,
        """
        with money as (
            select call_no, cohort_id, 'gpu' as basis from charges
            union
            select call_no, cohort_id, 'token' as basis from token_charges
        )
        select
            (select count(*) from call_rows anti join cohorts using (cohort_id))
            + (select count(*) from money anti join call_rows using (call_no, cohort_id))
            + (select count(*) - count(distinct call_no) from money)
        """,
    )
    return int(count)


def content(ledger: Ledger) -> list[list[tuple[Any, ...]]]:
    """What the ledger says, without the numbers that depend on the order of deliveries."""
    return [
        rows(ledger, f"select {columns} order by all")
        for columns in (
            "* exclude (call_no, cohort_id, delivery_id) from calls",
            """
            r.call_id, p.pool, p.replica, p.day, o.pool, o.effective_from,
            h.quarter, h.prefill_s, h.decode_s, h.prefill_gpu_seconds, h.decode_gpu_seconds
            from charges as h
            left join call_rows as r on h.call_no = r.call_no and h.cohort_id = r.cohort_id
            left join charge_partitions as p on h.partition_id = p.partition_id
            left join pools as o on h.rate_id = o.rate_id
            """,
            """
            r.call_id, p.day, t.token_cost, t.price_rule
            from token_charges as t
            left join call_rows as r on t.call_no = r.call_no and t.cohort_id = r.cohort_id
            left join charge_partitions as p on t.partition_id = p.partition_id
            """,
            "distinct c.* exclude (cohort_id) from cohorts as c semi join calls using (cohort_id)",
        )
    ]


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(
        st.tuples(st.lists(served(), max_size=8), st.sampled_from([*CONFIGURATIONS, None])),
        min_size=1,
        max_size=3,
    ),
    last=st.sampled_from(CONFIGURATIONS),
)
def test_whatever_came_first_the_ledger_is_as_if_all_came_at_once(
    steps: list[tuple[list[Call], Configuration | None]],
    last: Configuration,
    source: Source,
    reader_of: MakeReader,
) -> None:
    everything = [call for calls, _ in steps for call in calls]
    found = []
    for history in ([*steps, ([], last)], [([], last), (everything, last)]):
        with open_for_writing(None) as ledger:
            for calls, configuration in history:
                deliver(ledger, source, reader_of(calls=calls), configuration or last)
                if configuration is not None:
                    charge(ledger, configuration)
            assert orphans(ledger) == 0
            found.append(content(ledger))
    assert found[0] == found[1]
