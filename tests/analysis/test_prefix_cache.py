"""What a prefix cache would hold: by capacity, by reach, of the calls that tell their blocks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.errors import NoDataError
from analysis.prefix_cache import prefix_cache
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
MOONCAKE = SHARED / "A_mooncake" / "synthetic_trace.jsonl"


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
        "uncached_input_tokens": 16 * len(hashes or []) + 4,
        "visible_output_tokens": 10,
        "prefix_hashes": hashes,
        "prefix_block_tokens": 16,
    } | columns


def row(answer: Any, **wanted: Any) -> dict[str, Any]:
    rows = [r for r in answer.frame.to_dicts() if wanted.items() <= r.items()]
    assert len(rows) == 1
    return rows[0]


def whole(answer: Any, **wanted: Any) -> dict[str, Any]:
    return row(answer, reach="pool", capacity_tokens=None, **wanted)


def test_a_prompt_hits_what_a_former_one_began_with(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2, 3]), call(2, [1, 2, 4]), call(3, [5])]
    found = whole(prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION))
    assert (found["hit_tokens"], found["input_tokens"]) == (32, 3 * 4 + 7 * 16)
    assert found["block_hit_ratio"] == pytest.approx(2 / 7)


def test_a_small_cache_loses_what_a_large_one_keeps(ledger_of: LedgerOf) -> None:
    long = [call(2, list(range(100, 400)))]  # 300 blocks: more than 4,096 tokens
    calls = [call(1, [1, 2]), *long, call(3, [1, 2])]
    answer = prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert row(answer, reach="pool", capacity_tokens=4096)["hit_tokens"] == 0
    assert row(answer, reach="pool", capacity_tokens=16384)["hit_tokens"] == 32


def test_other_replicas_hold_nothing_for_a_call(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, [1, 2], replica="r1"), call(3, [1, 2])]
    answer = prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert row(answer, reach="replica", capacity_tokens=None)["hit_tokens"] == 32
    assert whole(answer)["hit_tokens"] == 64


def test_another_model_or_block_size_shares_no_cache(ledger_of: LedgerOf) -> None:
    calls = [
        call(1, [1, 2]),
        call(2, [1, 2], model="n"),
        call(3, [1, 2], prefix_block_tokens=32, uncached_input_tokens=70),
    ]
    assert whole(prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION))["hit_tokens"] == 0


def test_calls_that_were_not_asked_for_take_their_room(ledger_of: LedgerOf) -> None:
    other = [call(2, list(range(100, 400)), endpoint="/other")]
    calls = [call(1, [1, 2]), *other, call(3, [1, 2])]
    ledger = ledger_of(calls, CONFIGURATION)
    answer = prefix_cache(ledger, CONFIGURATION, where={"endpoint": "/chat"})
    assert answer.frame["endpoint"].unique().to_list() == ["/chat"]
    assert row(answer, reach="pool", capacity_tokens=4096)["hit_tokens"] == 0
    assert whole(answer)["hit_tokens"] == 32


def test_a_prefill_is_avoidable_by_what_was_not_read_from_a_cache(ledger_of: LedgerOf) -> None:
    told = {"cache_read_tokens": 0}
    half = {"cache_read_tokens": 16, "uncached_input_tokens": 20}
    calls = [call(1, [1, 2], **told), call(2, [1, 2], **half), call(3, [1, 2])]
    answer = prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    found = whole(answer)
    # Of call 2, 16 of 20 uncached tokens of a second of prefill; call 3 does not tell.
    assert found["avoidable_gpu_seconds"] == pytest.approx(0.8)
    assert found["reported_hit_tokens"] == 16
    assert any(note.startswith("what 1 call read from a cache") for note in answer.notes)


def test_calls_without_hashes_are_unknown_and_said(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, [1]), call(2, None)], CONFIGURATION)
    answer = prefix_cache(ledger, CONFIGURATION)
    found = whole(answer)
    assert (found["known_count"], found["unknown_count"]) == (1, 1)
    assert "without prefix hashes or a time: 1 call" in answer.notes


def test_what_is_missing_is_said_where_no_call_has_hashes(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match="prefix_block_tokens"):
        prefix_cache(ledger_of([call(1, None)], CONFIGURATION), CONFIGURATION)


def test_replicas_that_are_not_told_are_said(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, [1], replica=None)], CONFIGURATION)
    answer = prefix_cache(ledger, CONFIGURATION)
    assert answer.frame["reach"].unique().to_list() == ["pool"]
    assert "where replicas are not told, hits by replica are not known" in answer.notes


def test_more_reads_than_prompts_share_are_said_to_miss_the_beginning(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1], cache_read_tokens=500), call(2, [2], cache_read_tokens=500)]
    notes = prefix_cache(ledger_of(calls, CONFIGURATION), CONFIGURATION).notes
    assert any("leaves out what prompts begin with" in note for note in notes)


@pytest.mark.parametrize("by", [("model",), ("hour",), ("conversation_id",), ()])
def test_groups_of_any_kind_add_up(ledger_of: LedgerOf, by: tuple[str, ...]) -> None:
    calls = [
        call(n * 100, [n % 3, 10 + n % 5, 100 + n], model=f"m{n % 2}", conversation_id=f"c{n % 4}")
        for n in range(24)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    keys = ["known_count", "input_tokens", "hit_tokens"]
    frames = [
        prefix_cache(ledger, CONFIGURATION, by=columns)
        .frame.group_by("reach", "capacity_tokens")
        .agg(pl.col(keys).sum())
        .sort("reach", "capacity_tokens", nulls_last=True)
        for columns in ((), by)
    ]
    assert frames[0].equals(frames[1])


@pytest.mark.shared
@pytest.mark.skipif(not MOONCAKE.exists(), reason="the public files in ../shared are absent")
def test_the_hits_of_the_mooncake_trace_are_those_stated(tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "l.duckdb") as ledger:
        deliver_paths(ledger, [str(MOONCAKE)], CONFIGURATION)
        answer = prefix_cache(ledger, CONFIGURATION, by=())
    assert whole(answer)["block_hit_ratio"] == pytest.approx(77_953 / 121_877)
    ratios = answer.frame.filter(reach="pool")["block_hit_ratio"].to_list()
    assert ratios == sorted(ratios)
