"""Tools, retrievals and embeddings that were asked the same again within a time to live."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import WrongQuestionError
from analysis.tool_repeats import EFFECT_NOTE, EMBEDDING_NOTE, FRESH_NOTE, tool_repeats
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger, open_for_writing

POOL = Pool(name="gpus", models=("e",), price_per_gpu_hour=Decimal("3.6"))
CONFIGURATION = Configuration(pools=(POOL,))
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
WINDOW = Window()
TTL_NS = 60 * S


def add_run(
    ledger: Ledger,
    begin_s: int,
    arguments: str | None,
    result: str | None,
    *,
    tool: str = "search",
    status: str = "ok",
    trace: str = "a",
    table: str = "tool_runs",
) -> None:
    """A run of two seconds."""
    name, asked = ("tool", "arguments_hash") if table == "tool_runs" else ("source", "query_hash")
    ledger.connection.execute(
        f"insert into {table} (trace_id, span_id, {name}, started_at, ended_at, status, {asked}, "
        "result_hash, delivery_id) values ($1, uuid(), $2, $3, $4, $5, $6, $7, 1)",
        [trace, tool, T0 + begin_s * S, T0 + (begin_s + 2) * S, status, arguments, result],
    )


def rows(ledger: Ledger, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tool_repeats(
        ledger, window=WINDOW, ttl_ns=TTL_NS, **asked
    ).frame.to_dicts()
    return found


def test_equal_results_within_the_life_of_one_are_saved_and_others_are_not(ledger_of: Any) -> None:
    ledger = ledger_of([], CONFIGURATION)
    for begin_s, result in ((0, "r"), (1, "r"), (10, "r"), (20, "other"), (30, None), (62, "r")):
        add_run(ledger, begin_s, "x", result)
    add_run(ledger, 5, "y", "r")
    add_run(ledger, 6, None, "r")
    answer = tool_repeats(ledger, window=WINDOW, ttl_ns=TTL_NS)
    (row,) = answer.frame.to_dicts()
    assert (row["kind"], row["name"], row["run_count"], row["computed_count"]) == (
        "tool", "search", 8, 4,
    )  # fmt: skip
    assert (row["repeat_count"], row["changed_count"]) == (1, 1)
    assert (row["unseen_count"], row["unknown_count"]) == (1, 1)
    assert (row["run_s"], row["saved_s"]) == (16.0, 2.0)
    assert answer.notes[0].endswith(
        "within 60 s of a run that was asked the same found the same: 2.000 s"
    )
    assert {FRESH_NOTE, EFFECT_NOTE} < set(answer.notes)
    assert "not compared: 1 of 8 tool runs tell no arguments" in answer.notes[-1]


def test_a_run_that_failed_fills_nothing_and_is_computed(ledger_of: Any) -> None:
    ledger = ledger_of([], CONFIGURATION)
    for begin_s, status in ((0, "error"), (10, "ok"), (20, "error"), (30, "ok")):
        add_run(ledger, begin_s, "x", "r", status=status)
    (row,) = rows(ledger)
    assert (row["computed_count"], row["repeat_count"]) == (3, 1)


def test_other_tools_and_tenants_share_no_cache(ledger_of: Any) -> None:
    calls = [
        {"call_id": n * 32, "trace_id": n, "tenant": f"tenant {n}", "model": "m"} for n in "ab"
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    add_run(ledger, 0, "x", "r", trace="a")
    add_run(ledger, 10, "x", "r", trace="b")
    add_run(ledger, 20, "x", "r", trace="a", tool="fetch")
    assert rows(ledger) == []
    add_run(ledger, 30, "x", "r", trace="b")
    assert [row["repeat_count"] for row in rows(ledger)] == [1]


def test_retrievals_are_compared_by_query_and_documents(ledger_of: Any) -> None:
    ledger = ledger_of([], CONFIGURATION)
    for begin_s, documents in ((0, "d"), (10, "d"), (20, "e")):
        add_run(ledger, begin_s, "q", documents, table="retrievals", tool="handbook")
    (row,) = rows(ledger)
    assert (row["kind"], row["name"]) == ("retrieval", "handbook")
    assert (row["repeat_count"], row["changed_count"]) == (1, 1)
    assert rows(ledger, where={"kind": "tool"}) == []


def test_embeddings_of_equal_texts_save_gpu_seconds(ledger_of: Any) -> None:
    def embedding(number: int, text: str) -> dict[str, Any]:
        begin = T0 + 20 * number * S
        return {
            "call_id": f"{number:032x}", "operation": "embeddings", "model": "e",
            "timing_source": "engine", "prompt_hash": text, "arrived_at": begin,
            "started_at": begin, "first_token_at": begin + S, "ended_at": begin + 2 * S,
            "uncached_input_tokens": 100, "visible_output_tokens": 0,
        }  # fmt: skip

    ledger = ledger_of([embedding(n, "t" if n < 3 else "u") for n in range(4)], CONFIGURATION)
    answer = tool_repeats(ledger, window=WINDOW, ttl_ns=TTL_NS)
    (row,) = answer.frame.to_dicts()
    assert (row["kind"], row["name"], row["repeat_count"]) == ("embedding", "e", 2)
    assert row["saved_gpu_seconds"] == pytest.approx(4.0)
    assert (row["saved_cost"], row["currency"]) == (Decimal("0.004"), "USD")
    assert answer.notes[-2:] == ("of embeddings 4.000 GPU-seconds, 0.00 USD", EMBEDDING_NOTE)


def test_an_unknown_kind_is_a_wrong_question(ledger_of: Any) -> None:
    with pytest.raises(WrongQuestionError, match="kind is one of tool, retrieval, embedding"):
        rows(ledger_of([], CONFIGURATION), where={"kind": "tools"})


RUN = st.tuples(
    st.integers(0, 90), st.sampled_from(["x", "y", None]), st.sampled_from(["r", "s", None]),
    st.sampled_from(["a", "b"]), st.sampled_from(["ok", "error"]),
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(RUN, max_size=12))
def test_a_run_is_computed_or_repeated_or_changed_or_not_known(drawn: Any) -> None:
    with open_for_writing(None) as ledger:
        for begin_s, arguments, result, tool, status in drawn:
            add_run(ledger, begin_s, arguments, result, tool=tool, status=status)
        for row in rows(ledger):
            parts = ("computed", "repeat", "changed", "unseen", "unknown")
            assert sum(row[f"{part}_count"] for part in parts) == row["run_count"]
            assert row["run_count"] == sum(one[3] == row["name"] for one in drawn)
            assert row["computed_count"] >= 1


def test_embeddings_without_a_hash_are_not_compared(ledger_of: Any) -> None:
    calls = [
        {"call_id": f"{n:032x}", "operation": "embeddings", "model": "e", "timing_source": "span",
         "arrived_at": T0 + n * S, "ended_at": T0 + (n + 1) * S}
        for n in range(2)
    ]  # fmt: skip
    ledger = ledger_of(calls, CONFIGURATION)
    answer = tool_repeats(ledger, window=WINDOW, ttl_ns=TTL_NS)
    assert answer.notes[-1].startswith("not compared: 2 of 2 embeddings tell no text; send prompts")
    tools = tool_repeats(ledger, window=WINDOW, ttl_ns=TTL_NS, where={"kind": "tool"})
    assert not any(note.startswith("not compared") for note in tools.notes)
