"""A trace from the top down: depth, phases in place, calls without a span."""

import json
import tempfile
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from analysis.errors import NoDataError, WrongQuestionError
from analysis.trace import trace
from gpuledger.trace import bar, waterfall_table
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

S = 1_000_000_000
BEGIN = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
TRACE = "0af7651916cd43dd8448eb211c80319c"
CONFIGURATION = Configuration(pools=(Pool(name="a"),), map={"pool": ("resource.pool",)})


def span(
    span_id: str, name: str, parent: str | None, begin_s: float, end_s: float, **attributes: Any
) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": span_id * 16,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(BEGIN + int(begin_s * S)),
        "endTimeUnixNano": str(BEGIN + int(end_s * S)),
        "attributes": [
            {"key": key.replace("__", "."), "value": value} for key, value in attributes.items()
        ],
    } | ({} if parent is None else {"parentSpanId": parent * 16})


def text(value: str) -> dict[str, str]:
    return {"stringValue": value}


def number(value: float) -> dict[str, float]:
    return {"doubleValue": value}


def whole(value: int) -> dict[str, str]:
    return {"intValue": str(value)}


SPANS = [
    span("3", "execute_tool search", "1", 6, 7, gen_ai__operation__name=text("execute_tool")),
    span("1", "POST /chat", None, 0, 10, http__route=text("/chat")),
    span(
        "2", "llm_request", "1", 1, 6,
        gen_ai__operation__name=text("chat"),
        gen_ai__request__model=text("m"),
        gen_ai__usage__prompt_tokens=whole(100),
        gen_ai__usage__completion_tokens=whole(10),
        gen_ai__latency__time_in_queue=number(0.5),
        gen_ai__latency__time_to_first_token=number(1.5),
        gen_ai__latency__e2e=number(5.0),
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def ledger() -> Any:
    payload = {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "pool", "value": text("a")}]},
                "scopeSpans": [{"scope": {"name": "vllm.llm_engine"}, "spans": SPANS}],
            }
        ]
    }
    with tempfile.TemporaryDirectory() as folder, open_for_writing(None) as opened:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps(payload))
        deliver_paths(opened, [str(path)], CONFIGURATION)
        yield opened


def test_parents_stand_before_their_children_in_the_order_of_time(ledger: Ledger) -> None:
    frame = trace(ledger, CONFIGURATION, TRACE).frame
    assert frame.select("name", "depth", "is_call", "kind").rows() == [
        ("POST /chat", 0, False, "span"),
        ("llm_request", 1, True, "model"),
        ("execute_tool search", 1, False, "tool"),
    ]


def test_a_calls_phases_stand_where_they_were(ledger: Ledger) -> None:
    row = trace(ledger, CONFIGURATION, TRACE).frame.to_dicts()[1]
    assert (row["queue_at_s"], row["queue_s"]) == (1.0, 0.5)
    assert (row["prefill_at_s"], row["prefill_s"]) == (1.5, 1.0)
    assert (row["decode_at_s"], row["decode_s"]) == (2.5, 3.5)
    assert (row["gpu_seconds"], row["unsplit_s"], row["other_s"]) == (4.5, None, None)
    assert row["unpriced_reason"] is None or row["cost"] is None


def test_other_spans_have_one_bar(ledger: Ledger) -> None:
    row = trace(ledger, CONFIGURATION, TRACE).frame.to_dicts()[2]
    assert (row["at_s"], row["other_s"], row["queue_s"]) == (6.0, 1.0, None)


def test_the_beginning_of_an_id_is_enough_where_it_is_one_trace(ledger: Ledger) -> None:
    whole_trace = trace(ledger, CONFIGURATION, TRACE)
    assert trace(ledger, CONFIGURATION, "0AF7651916").frame.equals(whole_trace.frame)
    totals = "1 call, 100 input and 10 output tokens, 4.500 GPU-seconds"
    assert whole_trace.notes == (
        f"trace {TRACE}: 3 spans, 1 call",
        f"all of it: {totals}, 1 call not priced or in part",
    )


def test_an_id_that_begins_nothing_is_no_data(ledger: Ledger) -> None:
    with pytest.raises(NoDataError, match="no trace and no call begins with 'zz'"):
        trace(ledger, CONFIGURATION, "zz")


def test_an_id_that_begins_several_is_refused_with_their_names(ledger: Ledger) -> None:
    with pytest.raises(WrongQuestionError, match=f"begins several: call .*, trace {TRACE}"):
        trace(ledger, CONFIGURATION, "")


def test_the_last_row_of_the_table_is_what_all_rows_come_to(ledger: Ledger) -> None:
    answer = trace(ledger, CONFIGURATION, TRACE, most_rows=1)
    with StringIO() as written:
        Console(file=written, width=140).print(waterfall_table(answer, 140))
        *_, shown, last = written.getvalue().splitlines()
    assert shown.split()[:2] == ["POST", "/chat"]
    assert last.split() == ["all", "of", "it", "10.000", "100", "10", "4.50", "–"]


def test_a_call_without_spans_is_one_row(ledger: Ledger) -> None:
    rows = ledger.connection.execute("select call_id from call_rows").fetchall()
    frame = trace(ledger, CONFIGURATION, rows[0][0]).frame
    assert frame.select("name", "depth", "is_call").rows() == [("m", 0, True)]


def test_bars_are_to_scale_and_a_short_phase_is_one_cell() -> None:
    row = dict.fromkeys(("at_s", "unsplit_s", "other_s"), None) | {
        "queue_at_s": 0.0, "queue_s": 2.0,
        "prefill_at_s": 2.0, "prefill_s": 0.001,
        "decode_at_s": 2.001, "decode_s": 4.0,
    }  # fmt: skip
    assert bar(row, whole_s=10.0, cells=10).plain == "░░▒███    "


def test_the_longest_phase_of_a_bar_is_seen_where_all_share_a_character() -> None:
    row = dict.fromkeys(("at_s", "other_s", "unsplit_s"))
    row |= {"queue_at_s": 0.0, "queue_s": 0.01, "prefill_at_s": 0.01, "prefill_s": 0.02}
    row |= {"decode_at_s": 0.03, "decode_s": 0.9}
    assert bar(row, whole_s=10.0, cells=10).plain == "█         "


def test_eighty_columns_hold_every_figure_whole_and_mark_what_failed(ledger: Ledger) -> None:
    answer = trace(ledger, CONFIGURATION, TRACE)
    status = pl.when(pl.col("is_call")).then(pl.lit("timeout")).otherwise("status")
    failed = replace(answer, frame=answer.frame.with_columns(status=status))
    with StringIO() as written:
        Console(file=written, width=80).print(waterfall_table(failed, 80))
        lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("✗ timeout: llm_request" in line for line in lines)
    assert not any("…" in line for line in lines[2:])
    call = next(line for line in lines if "llm_request" in line)
    assert call.split()[-5:] == ["5.000", "100", "10", "4.50", "unpriced"]
