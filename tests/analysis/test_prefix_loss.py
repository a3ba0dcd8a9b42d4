"""What becomes of the tokens of prompts: each is read from a cache, or computed for one cause."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import NoDataError
from analysis.law import law
from analysis.prefix_loss import prefix_loss
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(Pool(name="a", models=("m", "n"), replicas=1, price_per_gpu_hour=Decimal(36)),)
)


def call(number: int, hashes: list[int] | None, **columns: Any) -> dict[str, Any]:
    """Call `number` in order, of blocks of 16 tokens and 4 more, alone for a second of prefill."""
    at = MIDNIGHT + number * 10 * S
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "model": "m",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": at,
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 2 * S,
        "uncached_input_tokens": 16 * len(hashes or []) + 4 - columns.get("cache_read_tokens", 0),
        "visible_output_tokens": 10,
        "prefix_hashes": hashes,
        "prefix_block_tokens": 16,
    } | columns


def tokens(ledger: Ledger, **asked: Any) -> dict[str, int]:
    frame = prefix_loss(ledger, CONFIGURATION, **asked).frame
    return dict(frame.select("cause", "tokens").iter_rows())


def test_a_shared_beginning_is_computed_once_and_then_hit(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2, 3]), call(2, [1, 2, 4], cache_read_tokens=32)]
    ledger = ledger_of(calls, CONFIGURATION)
    # Two shared blocks at first; a block and 4 tokens of each are its own.
    assert tokens(ledger) == {"hit": 32, "first_use": 32, "unshared": 40}


def test_another_replica_loses_what_a_shared_cache_would_hold(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, [1, 2], replica="r1")]
    assert tokens(ledger_of(calls, CONFIGURATION)) == {
        "routing": 32,
        "first_use": 32,
        "unshared": 8,
    }


def test_a_small_cache_loses_what_it_evicts(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, list(range(100, 110))), call(3, [1, 2])]
    ledger = ledger_of(calls, CONFIGURATION)
    told = {"first_use": 32, "unshared": 160 + 12}
    assert tokens(ledger, capacity_tokens=160) == told | {"eviction": 32}
    assert tokens(ledger, capacity_tokens=12 * 16) == told | {"unreported": 32}


def test_volatile_text_loses_what_stands_behind_it(ledger_of: LedgerOf) -> None:
    # Four tokens in the first block are a time; without them both prompts are the blocks 7, 8.
    volatile = {"volatile_spans": [2, 4, 1], "stable_prefix_hashes": [7, 8]}
    calls = [call(1, [1, 2, 3], **volatile), call(2, [4, 5, 6], **volatile)]
    assert tokens(ledger_of(calls, CONFIGURATION)) == {
        "volatile": 32,
        "first_use": 32,
        "unshared": 40,
    }


def test_what_was_read_is_no_loss_and_what_was_not_is_unexplained(ledger_of: LedgerOf) -> None:
    calls = [
        call(1, [1, 2], cache_read_tokens=0),
        call(2, [1, 2], cache_read_tokens=16),
        call(3, [1, 2], cache_read_tokens=36),
    ]
    assert tokens(ledger_of(calls, CONFIGURATION)) == {
        "hit": 52,
        "unexplained": 16,
        "first_use": 32,
        "unshared": 8,
    }


def test_a_call_without_hashes_is_unknown_with_its_prefill(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, [1]), call(2, None, uncached_input_tokens=50)], CONFIGURATION)
    rows = prefix_loss(ledger, CONFIGURATION).frame.rows_by_key("cause", named=True)
    assert rows["unknown"][0] | {"cause": None} == {
        "endpoint": "/chat",
        "cause": None,
        "call_count": 1,
        "tokens": 50,
        "tokens_ratio": pytest.approx(50 / 70),
        "prefill_gpu_seconds": 1.0,
        "cost": Decimal("0.010000000"),
        "currency": "USD",
    }


def test_prefill_and_money_are_spread_over_the_computed_tokens(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, [1, 2], replica="r1", cache_read_tokens=4)]
    frame = prefix_loss(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame
    rows = {row["cause"]: row for row in frame.to_dicts()}
    # Of call 2, 4 of 36 tokens were read; a second went to 28 lost to routing and 4 of its own.
    assert rows["routing"]["tokens"] == 28
    assert rows["routing"]["prefill_gpu_seconds"] == pytest.approx(28 / 32)
    assert rows["routing"]["cost"] == Decimal("0.008750000")
    assert rows["hit"]["prefill_gpu_seconds"] == 0


def test_where_no_call_tells_its_reads_a_simulated_hit_is_no_real_one(ledger_of: LedgerOf) -> None:
    calls = [call(n, [1, 2, 3], replica=None) for n in (1, 2, 3)]
    answer = prefix_loss(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    found = answer.frame.select("cause", "tokens", "prefill_gpu_seconds").rows()
    # Each call has 52 tokens and a second: one token has one price, whatever it is.
    assert found == [
        ("unreported", 96, pytest.approx(96 / 52)),
        ("first_use", 48, pytest.approx(48 / 52)),
        ("unshared", 12, pytest.approx(12 / 52)),
    ]
    assert any("3 calls read from a cache is not told" in note for note in answer.notes)


def test_tokens_written_to_a_cache_were_computed(ledger_of: LedgerOf) -> None:
    written = {"cache_read_tokens": 0, "cache_write_tokens": 32, "uncached_input_tokens": 4}
    frame = prefix_loss(ledger_of([call(1, [1, 2], **written)], CONFIGURATION), CONFIGURATION).frame
    assert frame.select("cause", "tokens").rows() == [("unshared", 36)]


def test_models_share_nothing_and_are_told_apart(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, [1, 2], model="n"), call(3, [1, 2], model="n")]
    frame = prefix_loss(ledger_of(calls, CONFIGURATION), CONFIGURATION, by=("model",)).frame
    assert frame.select("model", "cause", "tokens").rows() == [
        ("m", "unshared", 36),
        ("n", "unreported", 32),
        ("n", "first_use", 32),
        ("n", "unshared", 8),
    ]


def test_what_is_not_known_is_said(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1], replica=None, uncached_input_tokens=400)]
    notes = " ".join(prefix_loss(ledger_of(calls, CONFIGURATION), CONFIGURATION).notes)
    for words in (
        "no limit of any cache is known",
        "what 1 call read from a cache is not told (cached tokens of usage)",
        "the replica of 1 call is not told",
        "of 1 call only the beginning of the prompt is told",
    ):
        assert words in notes


def test_the_room_of_a_cache_is_what_the_configuration_tells(ledger_of: LedgerOf) -> None:
    pool = Pool(name="a", models=("m",), replicas=1, kv_cache_tokens=160)
    configured = Configuration(pools=(pool,))
    calls = [call(1, [1, 2]), call(2, list(range(100, 110))), call(3, [1, 2])]
    answer = prefix_loss(ledger_of(calls, configured), configured)
    assert dict(answer.frame.select("cause", "tokens").iter_rows())["eviction"] == 32
    assert any("by its engine or configuration: a 160" in note for note in answer.notes)


def test_without_any_hashes_it_is_said_what_is_missing(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match="prefix_block_tokens"):
        prefix_loss(ledger_of([call(1, None)], CONFIGURATION), CONFIGURATION)


CALLS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), max_size=5),
        st.sampled_from(["r0", "r1", None]),
        st.sampled_from(["m", "n"]),
        st.sampled_from([None, 0, 16, 40]),
        st.sampled_from([None, 0, 17]),
    ),
    min_size=1,
    max_size=20,
)


def made(number: int, drawn: tuple[Any, ...]) -> dict[str, Any]:
    """A call whose hashes are those of its blocks and all before them."""
    blocks, replica, model, read, span = drawn
    chain = [hash(("p", *blocks[: n + 1])) for n in range(len(blocks))]
    columns: dict[str, Any] = {"replica": replica, "model": model, "endpoint": f"/{number % 3}"}
    if read is not None and chain:
        columns["cache_read_tokens"] = min(read, 16 * len(chain))
    if span is not None and len(chain) > 2:
        stable = [hash(("s", *blocks[1 : n + 1])) for n in range(1, len(chain))]
        columns |= {"volatile_spans": [span, 3, 2], "stable_prefix_hashes": stable}
    return call(number, chain or None, **columns)


@settings(max_examples=25, deadline=None)
@given(drawn=CALLS, capacity=st.sampled_from([None, 16, 64, 4096]))
def test_the_causes_add_up_to_the_input_and_the_prefill_of_the_calls(
    ledger_of: LedgerOf, drawn: list[tuple[Any, ...]], capacity: int | None
) -> None:
    ledger = ledger_of([made(n, one) for n, one in enumerate(drawn)], CONFIGURATION)
    if not any(blocks for blocks, *_ in drawn):
        return
    frame = prefix_loss(ledger, CONFIGURATION, capacity_tokens=capacity).frame
    whole = law(ledger, CONFIGURATION).frame
    found = frame.group_by("endpoint").agg(
        pl.col("tokens").sum(), pl.col("prefill_gpu_seconds").sum()
    )
    assert (frame["tokens"] >= 0).all()
    joined = found.join(whole, on="endpoint", how="full")
    assert joined["tokens"].to_list() == joined["input_tokens"].to_list()
    assert joined["prefill_gpu_seconds"].to_list() == pytest.approx(
        joined["prefill_gpu_seconds_right"].to_list()
    )
    by_nothing = prefix_loss(ledger, CONFIGURATION, by=(), capacity_tokens=capacity).frame
    sums = frame.group_by("cause").agg(pl.col("tokens").sum()).sort("cause")
    assert sums.rows() == by_nothing.select("cause", "tokens").sort("cause").rows()
