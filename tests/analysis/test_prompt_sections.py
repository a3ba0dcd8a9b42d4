"""What prompts consist of: every token and every GPU-second of prefill is in one section."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import NoDataError
from analysis.law import law
from analysis.prompt_sections import prompt_sections
from ingest.ledger import Ledger
from tests.analysis.prompt_ledgers import CONFIGURATION, MIDNIGHT, S, call, sections

LedgerOf = Callable[..., Ledger]
NAMES = ("system", "tools", "examples", "history", "context", "user")


def rows_of(ledger: Ledger, **asked: Any) -> dict[str, dict[str, Any]]:
    frame = prompt_sections(ledger, CONFIGURATION, **asked).frame
    return {row["section"]: row for row in frame.to_dicts()}


def test_tokens_and_prefill_are_shared_by_section(ledger_of: LedgerOf) -> None:
    told = sections(system=100, context=600, user=200)
    rows = rows_of(ledger_of([call(1, **told)], CONFIGURATION))
    assert {name: row["tokens"] for name, row in rows.items()} == {
        "system": 100,
        "history": 0,
        "context": 600,
        "user": 200,
        "other": 100,
    }
    assert rows["context"]["share_ratio"] == 0.6
    assert rows["context"]["prefill_gpu_seconds"] == pytest.approx(6.0)
    assert rows["other"]["prefill_gpu_seconds"] == pytest.approx(1.0)


def test_a_cache_holds_what_comes_first(ledger_of: LedgerOf) -> None:
    told = sections(system=400, context=500, user=100)
    cached = {"uncached_input_tokens": 400, "cache_read_tokens": 600}
    rows = rows_of(ledger_of([call(1, **told, **cached)], CONFIGURATION))
    seconds = {name: row["prefill_gpu_seconds"] for name, row in rows.items()}
    # 600 of 1,000 tokens were held: all of the system message, and 200 of the context
    assert seconds == pytest.approx(
        {"system": 0, "history": 0, "context": 7.5, "user": 2.5, "other": 0}
    )


def test_where_all_was_held_the_last_token_was_read(ledger_of: LedgerOf) -> None:
    told = sections(system=900, user=100)
    cached = {"uncached_input_tokens": 0, "cache_read_tokens": 1000}
    rows = rows_of(ledger_of([call(1, **told, **cached)], CONFIGURATION))
    assert rows["user"]["prefill_gpu_seconds"] == pytest.approx(10.0)


def test_a_section_that_no_prompt_shows_has_no_row_and_others_count_who_does_not_show_it(
    ledger_of: LedgerOf,
) -> None:
    calls = [call(1, **sections(system=10, user=5)), call(2, **sections(user=15)), call(3)]
    answer = prompt_sections(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    rows = {row["section"]: row for row in answer.frame.to_dicts()}
    assert "tools" not in rows
    assert (rows["system"]["known_count"], rows["system"]["unknown_count"]) == (1, 2)
    assert (rows["user"]["mean_tokens"], rows["user"]["p95_tokens"]) == (10.0, 14.5)
    assert rows["other"]["tokens"] == 985 + 985 + 1000
    assert "without sections, hence all `other`: 1 call" in answer.notes


def test_without_any_section_it_says_what_to_do(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match=r"count_sections.*gen_ai\.input\.messages"):
        prompt_sections(ledger_of([call(1)], CONFIGURATION), CONFIGURATION)


PROMPTS = st.fixed_dictionaries({name: st.none() | st.integers(0, 900) for name in NAMES})


@given(
    prompts=st.lists(
        st.tuples(PROMPTS, st.integers(1, 3000), st.integers(0, 3000)), min_size=1, max_size=8
    )
)
@settings(max_examples=6, deadline=None)
def test_the_sections_add_up_to_the_law(
    ledger_of: LedgerOf, prompts: list[tuple[Any, int, int]]
) -> None:
    calls = [
        call(
            n,
            endpoint=f"/{n % 2}",
            uncached_input_tokens=uncached,
            cache_read_tokens=cached,
            started_at=MIDNIGHT + n * 1800 * S,
            first_token_at=MIDNIGHT + (n * 1800 + 7) * S,
            ended_at=MIDNIGHT + (n * 1800 + 9) * S,
            **{f"{name}_tokens": tokens for name, tokens in told.items() if tokens is not None},
        )
        for n, (told, uncached, cached) in enumerate(prompts)
    ]
    seen = call(99, **sections(system=1, user=1))
    ledger = ledger_of([*calls, seen], CONFIGURATION)
    whole = law(ledger, CONFIGURATION).frame["prefill_gpu_seconds"].sum()
    for by in ((), ("endpoint",), ("hour",)):
        frame = prompt_sections(ledger, CONFIGURATION, by=by).frame
        assert frame["prefill_gpu_seconds"].sum() == pytest.approx(whole)
        assert frame["prefill_gpu_seconds"].min() >= 0
        assert (frame["known_count"] + frame["unknown_count"] == frame["call_count"]).all()
        shares = frame.select(*by, "share_ratio").group_by(by or pl.lit(0)).sum()["share_ratio"]
        assert shares.to_list() == pytest.approx([1.0] * shares.len())
