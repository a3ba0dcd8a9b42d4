"""How long tools and retrievals take, by name."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import WrongQuestionError
from analysis.tool_latency import tool_latency
from analysis.window import Window
from ingest.ledger import Ledger, open_for_writing

MS = 1_000_000
S = 1_000_000_000
BEGIN = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
WINDOW = Window()

Run = tuple[str, str | None, int | None, int | None, str]
"""Table, name, begin and end in ms after `BEGIN`, status."""
LedgerOf = Callable[[Sequence[Run]], Ledger]


@pytest.fixture
def ledger_of_runs() -> Iterator[LedgerOf]:
    with open_for_writing(None) as ledger:
        yield lambda runs: filled(ledger, runs)


def filled(ledger: Ledger, runs: Sequence[Run]) -> Ledger:
    for number, (table, name, begin, end, status) in enumerate(runs):
        at = [None if ms is None else BEGIN + ms * MS for ms in (begin, end)]
        ledger.connection.execute(
            f"insert into {table} values (?, ?, null, ?, ?, ?, ?, null, null, 1)",
            ["trace", f"span {number}", name, *at, status],
        )
    return ledger


def test_each_tool_and_each_source_has_its_percentiles(ledger_of_runs: LedgerOf) -> None:
    runs: list[Run] = [("tool_runs", "search", 0, 10 * n, "ok") for n in range(101)]
    runs += [("retrievals", "handbook", 5, 25, "error"), ("tool_runs", "mail", 0, 8000, "ok")]
    found = tool_latency(ledger_of_runs(runs), window=WINDOW).frame
    # search: 0, 10, ... 1000 ms, 50.5 s in all.
    assert found.drop("mean_s").rows() == [
        ("tool", "search", 101, 0, 101, 0, 0.5, 0.95, 0.99, 1.0, 50.5),
        ("tool", "mail", 1, 0, 1, 0, 8.0, 8.0, 8.0, 8.0, 8.0),
        ("retrieval", "handbook", 1, 1, 1, 0, 0.02, 0.02, 0.02, 0.02, 0.02),
    ]
    assert found["mean_s"].to_list() == [0.5, 8.0, 0.02]


def test_a_run_without_both_ends_is_in_no_percentile(ledger_of_runs: LedgerOf) -> None:
    runs: list[Run] = [
        ("tool_runs", None, 0, 100, "ok"),
        ("tool_runs", None, 0, None, "ok"),
        ("tool_runs", None, 50, 20, "ok"),
    ]
    answer = tool_latency(ledger_of_runs(runs), window=WINDOW)
    assert answer.frame.select("name", "known_count", "unknown_count", "p99_s").rows() == [
        (None, 1, 2, 0.1)
    ]
    assert answer.notes == ("not told, hence in no percentile: the time of 2 runs",)


def test_a_kind_a_name_and_a_time_can_be_asked_for(ledger_of_runs: LedgerOf) -> None:
    ledger = ledger_of_runs(
        [
            ("tool_runs", "a", 0, 1, "ok"),
            ("retrievals", "a", 0, 2, "ok"),
            ("tool_runs", "b", 0, 3, "ok"),
            ("tool_runs", "a", 9000, 9004, "ok"),
        ]
    )
    window = Window(since=BEGIN, until=BEGIN + S)
    where = {"kind": "tool", "name": "a"}
    assert tool_latency(ledger, window=window, where=where).frame["total_s"].to_list() == [0.001]
    with pytest.raises(WrongQuestionError, match="kind is one of tool, retrieval, not 'tols'"):
        tool_latency(ledger, window=window, where={"kind": "tols"})


def test_without_spans_of_tools_it_is_said_what_to_send(ledger_of_runs: LedgerOf) -> None:
    answer = tool_latency(ledger_of_runs([]), window=WINDOW)
    assert answer.frame.is_empty()
    assert "send their spans" in answer.notes[0]


@settings(max_examples=15, deadline=None)
@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from(["tool_runs", "retrievals"]),
            st.sampled_from(["a", "b", None]),
            st.one_of(st.none(), st.integers(0, 5000)),
            st.one_of(st.none(), st.integers(0, 5000)),
            st.sampled_from(["ok", "error", "timeout"]),
        ),
        max_size=30,
    )
)
def test_the_runs_of_all_rows_are_all_runs(runs: list[Run]) -> None:
    with open_for_writing(None) as ledger:
        frame = tool_latency(filled(ledger, runs), window=WINDOW).frame
    took = [e - b for _, _, b, e, _ in runs if b is not None and e is not None and e >= b]
    assert frame["run_count"].sum() == len(runs)
    assert frame["known_count"].sum() == len(took)
    assert frame["total_s"].drop_nulls().sum() == pytest.approx(sum(took) / 1000)
    for row in frame.drop_nulls("p50_s").to_dicts():
        assert row["p50_s"] <= row["p95_s"] <= row["p99_s"] <= row["longest_s"]
