"""What prompts carry twice, as markup, or untouched; and what leaving it out would save."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.chunk_sets import ChunkSets
from analysis.chunks import chunks, chunks_claims
from analysis.errors import NoDataError
from analysis.shared_chunks import SharedChunks
from analysis.window import Window
from ingest.ledger import Ledger
from tests.analysis.prompt_ledgers import CONFIGURATION, MIDNIGHT, S, call, sections
from tests.analysis.prompt_ledgers import chunks as measured

LedgerOf = Callable[..., Ledger]
A, B, C = (11, 0x1111111111111111), (22, 0x2222222222222222), (33, 0x3333333333333333)
NEAR_A = (44, 0x11111111111111FF)
TOLD = sections(system=100, context=700, user=200)


def only(ledger: Ledger, **asked: Any) -> dict[str, Any]:
    return chunks(ledger, CONFIGURATION, **asked).frame.row(0, named=True)


def test_each_token_of_a_chunk_is_in_one_part(ledger_of: LedgerOf) -> None:
    told = measured(
        (*A, 100, 100, 20),
        (*B, 200, 100, 0),
        (*A, 300, 100, 20),
        (*NEAR_A, 400, 90, 10),
        chunk_is_touched=[True, False, True, True],
    )
    row = only(ledger_of([call(1, **TOLD, **told)], CONFIGURATION))
    parts = ("duplicate_tokens", "markup_tokens", "near_duplicate_tokens", "untouched_tokens")
    assert [row[part] for part in parts] == [100, 30, 80, 100]
    assert (row["chunk_tokens"], row["judged_tokens"], row["judged_count"]) == (390, 390, 1)
    # 100 duplicate and 30 markup tokens of 1,000 that took 10 s
    assert row["saved_tokens"] == 130
    assert row["saved_gpu_seconds"] == pytest.approx(1.3)


def test_what_a_cache_held_is_not_saved_again(ledger_of: LedgerOf) -> None:
    told = measured((*A, 100, 100, 0), (*A, 200, 100, 0), (*B, 300, 100, 50), (*A, 400, 100, 0))
    cached = {"uncached_input_tokens": 650, "cache_read_tokens": 350}
    row = only(ledger_of([call(1, **TOLD, **told, **cached)], CONFIGURATION))
    # held: the first two chunks and half of the third
    assert (row["duplicate_tokens"], row["markup_tokens"]) == (200, 50)
    assert row["saved_tokens"] == 25 + 100
    assert row["saved_gpu_seconds"] == pytest.approx(10 * 125 / 650)


def test_what_the_telemetry_left_out_of_a_prompt_may_have_been_anywhere(
    ledger_of: LedgerOf,
) -> None:
    told = measured((*A, 0, 100, 0), (*A, 100, 100, 0))
    cached = {"uncached_input_tokens": 250, "cache_read_tokens": 750}
    ledger = ledger_of([call(1, **sections(context=200), **told, **cached)], CONFIGURATION)
    # of the 200 tokens that are told a cache held as large a share as of all: 150
    assert only(ledger)["saved_tokens"] == 50


def test_chunks_of_other_calls_are_told_apart_from_those_of_one_call(ledger_of: LedgerOf) -> None:
    calls = [
        call(1, **TOLD, **measured((*A, 0, 100, 0), (*A, 100, 100, 0), (*B, 200, 50, 0))),
        call(2, **TOLD, **measured((*A, 0, 101, 0))),
        call(3, **TOLD, **measured((*NEAR_A, 0, 60, 0))),
        call(4, endpoint="/other", **TOLD, **measured((*A, 0, 100, 0))),
        call(5, **TOLD, **measured((*C, 0, 70, 0), chunk_is_result=[True])),
        call(6, **TOLD, **measured((*C, 0, 70, 0), chunk_is_result=[True])),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    rows = {row["endpoint"]: row for row in chunks(ledger, CONFIGURATION).frame.to_dicts()}
    chat = rows["/chat"]
    assert chat["duplicate_tokens"] == 100
    assert chat["context_tokens"] == 100 + 50 + 101 + 60
    assert chat["repeated_tokens"] == 100
    # of the two that are nearly one the later by hash counts
    assert chat["near_repeated_tokens"] == 60
    assert rows["/other"]["repeated_tokens"] == 0


def test_results_of_tools_are_no_context(ledger_of: LedgerOf) -> None:
    told = measured((*A, 0, 200, 0), (*A, 200, 200, 0), chunk_is_result=[False, True])
    ledger = ledger_of([call(1, **TOLD, **told)], CONFIGURATION)
    assert chunks_claims(ledger, window=Window())["prefill_ratio"].to_list() == [0.2]
    assert chunks_claims(ledger, window=Window(), section="context").is_empty()


def test_a_clean_ledger_has_nothing_to_leave_out(ledger_of: LedgerOf) -> None:
    calls = [
        call(n, **TOLD, **measured((n, n * 0x0101010101010101, 0, 100, 0))) for n in range(1, 9)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    row = only(ledger)
    names = ("duplicate_tokens", "markup_tokens", "near_duplicate_tokens", "saved_tokens")
    shared = ("repeated_tokens", "near_repeated_tokens", "saved_gpu_seconds")
    assert [row[name] for name in (*names, *shared)] == [0] * 7
    assert row["untouched_tokens"] is None
    assert chunks_claims(ledger, window=Window()).is_empty()


def test_texts_of_two_languages_are_measured_on_their_way(ledger_of: LedgerOf) -> None:
    passages = {
        "/en": "The deposit is returned within six weeks once all of the meters have been read, "
        "and interest is added where it takes longer than that.",
        "/ja": "敷金は検針が二回済んだのち、六週間以内に指定された口座へ返金され、"
        "遅れたときは利息が加算されます。",
    }
    calls = [
        call(n, endpoint=endpoint, prompt=json.dumps([{"role": "user", "content": prompt}]))
        for n, (endpoint, passage) in enumerate(passages.items())
        for prompt in [f"<context>{passage}\n\n{passage}</context>?"]
    ]
    frame = chunks(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame
    assert set(frame["endpoint"]) == set(passages)
    for row in frame.to_dicts():
        assert row["chunk_tokens"] - 2 <= 2 * row["duplicate_tokens"] <= row["chunk_tokens"] + 2
        assert row["duplicate_tokens"] >= 16


def test_who_is_not_measured_is_counted_and_told_what_to_do(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match=r"count_sections.*new ledger"):
        chunks(ledger_of([call(1)], CONFIGURATION), CONFIGURATION)
    answer = chunks(ledger_of([call(1), call(2, **measured())], CONFIGURATION), CONFIGURATION)
    row = answer.frame.row(0, named=True)
    assert (row["known_count"], row["unknown_count"], row["chunked_count"]) == (1, 1, 0)
    assert any(note.startswith("not measured: 1 call ") for note in answer.notes)
    assert any(note.startswith("no prompt here shows a chunk") for note in answer.notes)


CHUNK = st.tuples(st.sampled_from([A, B, C, NEAR_A]), st.integers(1, 60), st.integers(0, 60))


@given(
    prompts=st.lists(
        st.tuples(st.lists(CHUNK, max_size=6), st.integers(0, 900)), min_size=1, max_size=6
    )
)
@settings(max_examples=6, deadline=None)
def test_what_is_saved_is_what_is_claimed(
    ledger_of: LedgerOf, prompts: list[tuple[list[Any], int]]
) -> None:
    calls = []
    for n, (listed, cached) in enumerate(prompts):
        begin, placed = 100, []
        for key, tokens, markup in listed:
            placed.append((*key, begin, tokens, min(markup, tokens)))
            begin += tokens
        held = {"uncached_input_tokens": 1000 - cached, "cache_read_tokens": cached}
        at = MIDNIGHT + n * 3600 * S
        times = {
            "arrived_at": at,
            "started_at": at,
            "first_token_at": at + 3 * S,
            "ended_at": at + 4 * S,
        }
        calls.append(call(n, endpoint=f"/{n % 2}", **TOLD, **measured(*placed), **held, **times))
    ledger = ledger_of(calls, CONFIGURATION)
    claims = chunks_claims(ledger, window=Window())
    assert claims["call_no"].is_unique().all()
    assert claims["prefill_ratio"].is_between(0, 1).all()
    charged = ledger.connection.sql(
        "select call_no, sum(prefill_gpu_seconds) as s from charges group by call_no"
    ).pl()
    claimed = claims.join(charged, on="call_no").select(
        (pl.col("prefill_ratio") * pl.col("s")).sum()
    )
    for by in ((), ("endpoint",), ("hour",), ("user_id",)):
        frame = chunks(ledger, CONFIGURATION, by=by).frame
        assert frame["saved_gpu_seconds"].sum() == pytest.approx(claimed.item(), abs=1e-9)
        assert (frame["saved_tokens"] <= frame["duplicate_tokens"] + frame["markup_tokens"]).all()
        assert frame["call_count"].sum() == len(calls)


def batch_of(calls: list[tuple[int, list[tuple[int, int]]]]) -> pl.DataFrame:
    """Rows of `prompt_chunks`: of each call its group, and hash and signature of its chunks."""
    rows = [
        {
            "group_number": group,
            "time_number": None,
            "caller": None,
            "call_no": n,
            "size": 1000,
            "held": 0.0,
            "told_held": 0,
            "chunk_hashes": [text_hash for text_hash, _ in listed],
            "chunk_signatures": [signature for _, signature in listed],
            "chunk_begins": [20 * at for at in range(len(listed))],
            "chunk_tokens": [20] * len(listed),
            "chunk_markup_tokens": [0] * len(listed),
            "chunk_is_result": [False] * len(listed),
        }
        for n, (group, listed) in enumerate(calls)
    ]
    return pl.DataFrame(rows, schema_overrides={"time_number": pl.Int64, "caller": pl.String})


def shared_of(batches: list[pl.DataFrame], most: int = 1000) -> tuple[pl.DataFrame, int]:
    shared = SharedChunks(most=most)
    sets = ChunkSets(shared=shared)
    for batch in batches:
        sets.take(batch)
    return shared.tokens().sort("group_number"), shared.scale


def test_batches_do_not_change_what_is_shared() -> None:
    batch = batch_of([(n % 2, [(n % 5, n % 5), (100 + n, (n // 2) << 56)]) for n in range(40)])
    whole, _ = shared_of([batch])
    parts, _ = shared_of([batch.slice(begin, 7) for begin in range(0, 40, 7)], most=60)
    assert parts.equals(whole)
    # 20 calls a group: of five chunks 15 come again; one near the others in each second call
    assert whole["repeated_tokens"].to_list() == [300, 300]


def test_of_too_many_chunks_a_sample_tells_how_much_is_repeated() -> None:
    rare = [(0, [(n, n << 32), (n % 50, 7)]) for n in range(100, 4100)]
    batches = [batch_of(rare[begin : begin + 500]) for begin in range(0, 4000, 500)]
    exact, scale = shared_of(batches, most=100_000)
    sampled, sampled_scale = shared_of(batches, most=1000)
    assert (scale, sampled_scale) == (1, 4)
    assert exact["repeated_tokens"].item() == (4000 - 50) * 20
    assert sampled["repeated_tokens"].item() == pytest.approx(79_000, rel=0.1)
    assert sampled["context_tokens"].item() == exact["context_tokens"].item()
    assert sampled["near_repeated_tokens"].item() is None
