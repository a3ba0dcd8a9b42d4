"""Case 35: a trace of 50,000 spans is shown at once, in words, and counted whole."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from analysis.trace import TraceAnswer, trace
from ingest.config import load_configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_reading, open_for_writing

S = 1_000_000_000
TRACE = "a" * 32
SPANS, CALL_EVERY, FIRST_LEAF = 50_000, 10, 5_000
DEAREST = "0" * 12 + "c34f"
"""The id of the last span but one, the only call of 9,000 output tokens: 50,000 is 0xc350."""
TOML = """
[[token_prices]]
model = "m"
input_per_mtok = "3"
output_per_mtok = "15"
from = 2026-01-01T00:00:00Z
"""
WITH_PICTURE = 7
BYTES = 4_500_000
PICTURE = "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n".ljust(BYTES, b"p")).decode()
"""A data URL of 6 MB."""
SENTENCE = "showing 500 of 50,000 spans: the dearest calls and the longest spans in turn"


def written(number: int, t0: int) -> dict[str, Any]:
    """Span `number` of a tree in which each has ten children; every tenth leaf is a call."""
    attributes: dict[str, Any] = {"app.step": {"intValue": str(number)}}
    if number == WITH_PICTURE:
        attributes["app.screenshot"] = {"stringValue": PICTURE}
    name = f"{number + 1:016x}"
    is_tenth = number % CALL_EVERY == CALL_EVERY - 1
    if name == DEAREST or (number >= FIRST_LEAF and is_tenth):
        attributes |= {
            "gen_ai.operation.name": {"stringValue": "chat"},
            "gen_ai.request.model": {"stringValue": "m"},
            "gen_ai.usage.input_tokens": {"intValue": "1000"},
            "gen_ai.usage.output_tokens": {"intValue": "9000" if name == DEAREST else "100"},
        }
    begin = t0 + number * S // 1000
    return {
        "traceId": TRACE,
        "spanId": name,
        "parentSpanId": f"{(number - 1) // 10 + 1:016x}" if number else "",
        "name": f"step {number}",
        "kind": 1,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(t0 + 60 * S if number == 0 else begin + S // 100),
        "attributes": [{"key": key, "value": value} for key, value in attributes.items()],
    }


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory, t0: int) -> tuple[Path, Path]:
    """A ledger of one large trace, and its configuration."""
    folder = tmp_path_factory.mktemp("large")
    ledger_path, config, source = (folder / name for name in ("l.duckdb", "c.toml", "t.json"))
    config.write_text(TOML)
    spans = [written(number, t0) for number in range(SPANS)]
    source.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    with open_for_writing(ledger_path) as ledger:
        (result,) = deliver_paths(ledger, [str(source)], load_configuration(config))
    assert result.counts is not None
    assert (result.counts.new, result.counts.rejected) == (SPANS, 0)
    return ledger_path, config


@pytest.fixture(scope="module")
def answer(paths: tuple[Path, Path]) -> TraceAnswer:
    """What a page is given of it; the ledger is closed again."""
    ledger_path, config = paths
    with open_for_writing(ledger_path) as ledger:
        return trace(ledger, load_configuration(config), TRACE)


def test_case_35_the_dearest_calls_and_longest_spans_are_shown_with_what_they_are_under(
    answer: TraceAnswer,
) -> None:
    rows = answer.frame.select("span_id", "parent_span_id", "depth").to_dicts()
    shown = {row["span_id"] for row in rows}
    assert len(rows) == len(shown) == 500
    assert {DEAREST, f"{1:016x}"} <= shown
    assert all(row["parent_span_id"] in shown for row in rows if row["depth"] > 0)
    assert [row["span_id"] for row in rows if row["depth"] == 0] == [f"{1:016x}"]
    assert answer.notes[1].startswith(SENTENCE)


def test_case_35_totals_are_of_all_spans(answer: TraceAnswer, paths: tuple[Path, Path]) -> None:
    whole = answer.whole
    assert (whole.row_count, whole.call_count, whole.duration_s) == (50_000, 4_501, 60.0)
    assert (whole.input_tokens, whole.output_tokens) == (4_501_000, 459_000)
    assert whole.costs == (("USD", Decimal("4.501") * 3 + Decimal("0.459") * 15),)


def test_case_35_a_blob_of_6_mb_is_stored_by_reference(paths: tuple[Path, Path]) -> None:
    assert len(PICTURE) > 6_000_000
    with open_for_reading(paths[0]) as ledger:
        text = "select max(length(attributes)), max_by(attributes, contains(attributes, 'blob'))"
        ((most, found),) = ledger.connection.execute(f"{text} from spans").fetchall()
    kept = json.loads(found)
    assert most < 1_000
    assert re.fullmatch(
        rf"\[blob: image/png, {BYTES} bytes, v1:[0-9a-f]{{64}}\]", kept["app.screenshot"]
    )
    assert paths[0].stat().st_size < 40_000_000


def test_case_35_the_command_says_how_many_of_how_many(paths: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "gpuledger.main", "trace", TRACE]
    command += ["--ledger", str(paths[0]), "--config", str(paths[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert SENTENCE in " ".join(line.strip() for line in lines[:3])
    assert lines[-1].split()[-5:] == ["60.000", "4,501,000", "459,000", "–", "20.388000"]
    more = subprocess.run(
        [*command, "--limit", "600", "--format", "csv"], capture_output=True, text=True, check=True
    )
    assert len(more.stdout.splitlines()) == 601
    assert "showing 600 of 50,000 spans" in more.stderr
