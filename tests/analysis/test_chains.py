"""Chains: calls right after one another that could be one, and the prefill that this saves."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.bill import read_bill
from analysis.chains import chains, chains_claims
from analysis.errors import NoDataError
from analysis.selection import selected
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(Pool(name="a", replicas=1000, price_per_gpu_hour=Decimal("3.6")),)
)
FIGURES = (
    "evidence", "chain_count", "call_count", "merged_count", "shared_tokens", "saved_tokens",
    "at_stake_gpu_seconds", "saved_gpu_seconds",
)  # fmt: skip
BLOCK = 16


def hashes(tokens: int, text: int = 1) -> list[int]:
    """Of leading blocks: those of one text are equal as far as the shorter prompt reaches."""
    return [text * 1000 + block for block in range(tokens // BLOCK)]


def call(number: int, tokens: tuple[int, int], begin: float = 0, **columns: Any) -> dict[str, Any]:
    """Two seconds of prefill and two of decode, alone on its replica, in one trace."""
    begun = MIDNIGHT + round(begin * S)
    return {
        "call_id": str(number),
        "trace_id": "t",
        "span_id": f"s{number}",
        "endpoint": "/write",
        "model": "m",
        "pool": "a",
        "replica": f"r{number}",
        "timing_source": "engine",
        "arrived_at": begun,
        "started_at": begun,
        "first_token_at": begun + 2 * S,
        "ended_at": begun + 4 * S,
        "uncached_input_tokens": tokens[0],
        "visible_output_tokens": tokens[1],
        "prompt_hash": f"v2:{number}",
        "prefix_hashes": hashes(tokens[0]),
        "prefix_block_tokens": BLOCK,
    } | columns


def rows_of(ledger_of: LedgerOf, *calls: dict[str, Any]) -> list[tuple[Any, ...]]:
    answer = chains(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    return answer.frame.select(FIGURES).rows()


FIRST = call(1, (320, 80))


def test_a_prompt_that_begins_with_prompt_and_answer_before_repeats_both(
    ledger_of: LedgerOf,
) -> None:
    # 400 of the 500 tokens of the second prompt were there: 4/5 of its two seconds of prefill.
    assert rows_of(ledger_of, FIRST, call(2, (500, 40), begin=4.5)) == [
        ("prefix", 1, 2, 1, 400, 400, 1.6, 1.6)
    ]


def test_a_chain_of_three_is_one_chain(ledger_of: LedgerOf) -> None:
    calls = (FIRST, call(2, (500, 40), begin=4.5), call(3, (600, 10), begin=9))
    rows = rows_of(ledger_of, *calls)
    assert [row[:4] for row in rows] == [("prefix", 1, 3, 2)]


def test_what_was_read_from_a_cache_is_not_saved_again(ledger_of: LedgerOf) -> None:
    cached = call(2, (180, 40), begin=4.5, cache_read_tokens=320, prefix_hashes=hashes(500))
    # 500 tokens, 320 of them cached: of the 180 others 80 are the answer before.
    assert rows_of(ledger_of, FIRST, cached)[0][4:6] == (400, 80)


@pytest.mark.parametrize(
    "columns",
    [
        {"begin": 5.5},  # a second and a half later
        {"begin": 3.0},  # beside the first
        {"begin": 4.5, "model": "other"},
        {"begin": 4.5, "trace_id": "other"},
        {"begin": 4.5, "prefix_hashes": hashes(500, text=2)},
        {"begin": 4.5, "prompt_hash": "v2:1"},  # the same again
        {"begin": 4.5, "operation": "embeddings", "prefix_hashes": None,
         "uncached_input_tokens": 79},
    ],
)  # fmt: skip
def test_what_is_no_chain(ledger_of: LedgerOf, columns: dict[str, Any]) -> None:
    assert rows_of(ledger_of, FIRST, call(2, (500, 40), **columns)) == []


@pytest.mark.parametrize(
    "columns", [{"status": "error"}, {"finish_reason": "tool_calls"}, {"finish_reason": "length"}]
)
def test_an_answer_that_failed_was_cut_or_asks_for_a_tool_is_not_handed_on(
    ledger_of: LedgerOf, columns: dict[str, Any]
) -> None:
    assert rows_of(ledger_of, FIRST | columns, call(2, (500, 40), begin=4.5)) == []


def test_a_tool_or_a_call_between_breaks_a_chain(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([FIRST, call(2, (500, 40), begin=4.5)], CONFIGURATION)
    at = MIDNIGHT + 4 * S
    ledger.connection.execute(
        "insert into tool_runs values ('t', 'x', null, 'x', ?, ?, 'ok', null, null, 1)",
        [at + S // 10, at + S // 5],
    )
    assert chains(ledger, CONFIGURATION).frame.is_empty()


def test_lengths_alone_are_a_sign_and_save_nothing(ledger_of: LedgerOf) -> None:
    unhashed = {"prefix_hashes": None}
    in_sum = (FIRST | unhashed, call(2, (500, 40), begin=4.5, **unhashed))
    assert rows_of(ledger_of, *in_sum) == [("sum", 1, 2, 1, 400, 400, 1.6, None)]
    most = (FIRST | unhashed, call(2, (150, 40), begin=4.5, **unhashed))
    # 80 of 150 tokens.
    assert [row[:6] for row in rows_of(ledger_of, *most)] == [("most", 1, 2, 1, 80, 80)]
    answer = chains(ledger_of(most, CONFIGURATION), CONFIGURATION)
    assert any(note.startswith("sum and most are signs") for note in answer.notes)
    assert chains_claims(ledger_of(in_sum, CONFIGURATION), CONFIGURATION).is_empty()


def test_claims_come_to_what_is_saved(ledger_of: LedgerOf) -> None:
    calls = [FIRST, call(2, (500, 40), begin=4.5), call(3, (600, 10), begin=9)]
    calls += [call(n, (100, 10), begin=n * 10, trace_id=f"t{n}") for n in range(4, 9)]
    ledger = ledger_of(calls, CONFIGURATION)
    claims = chains_claims(ledger, CONFIGURATION)
    assert claims["decode_ratio"].to_list() == [0.0, 0.0]
    assert claims["prefill_ratio"].to_list() == pytest.approx([0.8, 0.9])
    bill = read_bill(ledger.connection, Window(), selected(None))
    saving = bill.saving(bill.claim(claims))
    frame = chains(ledger, CONFIGURATION).frame
    assert sum(saving.gpu_ps.values()) == pytest.approx(frame["saved_gpu_seconds"].sum() * 1e12)
    assert frame["saved_gpu_seconds"].sum() == pytest.approx(3.4)
    assert frame["saved_cost"].sum() == Decimal("0.0034")


def test_calls_in_no_trace_are_counted_and_not_looked_at(ledger_of: LedgerOf) -> None:
    alone = {"trace_id": None, "span_id": None, "prefix_hashes": None, "prefix_block_tokens": None}
    calls = [call(n, (500, 40), begin=n * 4.5, **alone) for n in (1, 2)]
    answer = chains(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert answer.frame.is_empty()
    assert any("in no trace: 2 calls; send the traces" in note for note in answer.notes)
    assert any(
        note.startswith("not compared but by length: 2 calls without prefix hashes; send prompts")
        for note in answer.notes
    )
    with pytest.raises(NoDataError, match="no calls with"):
        chains(ledger_of([], CONFIGURATION), CONFIGURATION)


@settings(max_examples=12, deadline=None)
@given(
    drawn=st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.integers(1, 60), st.integers(0, 30), st.integers(0, 2),
            st.booleans(), st.sampled_from(["/x", "/y"]),
        ),
        max_size=14,
    )
)  # fmt: skip
def test_no_more_is_saved_than_was_computed_and_groups_add_up(
    ledger_of: LedgerOf, drawn: Sequence[tuple[str, int, int, int, bool, str]]
) -> None:
    calls = [
        call(
            n, (tokens * 10, answer * 10), begin=n * (4 + gap / 2), trace_id=trace,
            prefix_hashes=hashes(tokens * 10) if is_hashed else None, endpoint=endpoint,
        )
        for n, (trace, tokens, answer, gap, is_hashed, endpoint) in enumerate(drawn)
    ]  # fmt: skip
    ledger = ledger_of([*calls, call(99, (1, 1), begin=999)], CONFIGURATION)
    claims = chains_claims(ledger, CONFIGURATION)
    assert claims["call_no"].is_unique().all()
    assert claims["prefill_ratio"].is_between(0, 1).all()
    whole = chains(ledger, CONFIGURATION, by=()).frame
    split = chains(ledger, CONFIGURATION, by=("endpoint",)).frame
    for figure in ("merged_count", "saved_tokens", "shared_tokens"):
        assert whole[figure].sum() == split[figure].sum()
    assert split["saved_gpu_seconds"].sum() == pytest.approx(2 * claims["prefill_ratio"].sum())
    assert (whole["saved_tokens"] <= whole["shared_tokens"]).all()
