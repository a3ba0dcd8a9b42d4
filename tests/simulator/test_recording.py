"""The recorded replay of the sample: what its files say is what its README says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.law import law
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

RECORDING = Path(__file__).resolve().parents[2] / "sample_data" / "recording"


@pytest.fixture(scope="module")
def recorded() -> Iterator[Ledger]:
    with open_for_writing(None) as ledger:
        paths = sorted(str(path) for path in RECORDING.glob("*.gz"))
        results = deliver_paths(ledger, paths, Configuration())
        assert [result.format_name for result in results] == ["otlp-protobuf"] * 6
        assert all(r.counts is not None and r.counts.rejected == 0 for r in results)
        yield ledger


def test_the_trace_has_its_known_totals() -> None:
    lines = (RECORDING / "trace.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in lines]
    assert len(calls) == 24
    assert sum(call["uncached_input_tokens"] for call in calls) == 6_578
    assert sum(call["visible_output_tokens"] for call in calls) == 412


def test_every_pass_replays_the_whole_trace_to_the_token(recorded: Ledger) -> None:
    passes = recorded.connection.sql(
        "select replica, arm, count(*), sum(input_tokens), sum(output_tokens), "
        "sum(cache_read_tokens) from calls where origin = 'replay' group by all order by 1"
    ).fetchall()
    assert [row[1] for row in passes] == [
        *("baseline", "baseline", "candidate", "candidate", "baseline", "baseline")
    ]
    assert {row[2:5] for row in passes} == {(24, 6_578, 412)}
    assert [row[5] for row in passes] == [0, 0, 4_224, 4_224, 0, 0]


def test_all_timings_are_the_engines_and_possible(recorded: Ledger) -> None:
    kinds = recorded.connection.sql(
        "select distinct timing_source, timing_quality, status, scenario, pool from calls"
    ).fetchall()
    assert kinds == [("engine", "ok", "ok", "prefix-cache", "replay llama.cpp")]


def test_the_law_says_what_the_readme_says(recorded: Ledger) -> None:
    where = {"origin": "replay"}
    frame = law(recorded, Configuration(), by=("endpoint", "arm"), where=where).frame
    lines = {
        (line["endpoint"], line["arm"]): line
        for line in frame.to_dicts()
        if line["line"] == "calls"
    }
    assert {key: line["N"] for key, line in lines.items()} == {
        ("/assistant", "baseline"): 72,
        ("/assistant", "candidate"): 36,
        ("/translate", "baseline"): 24,
        ("/translate", "candidate"): 12,
    }
    prefill_s = {key: round(line["Tp_s"], 3) for key, line in lines.items()}
    assert prefill_s == {
        ("/assistant", "baseline"): 1.855,
        ("/assistant", "candidate"): 0.542,
        ("/translate", "baseline"): 1.051,
        ("/translate", "candidate"): 1.195,
    }
    readme = (RECORDING / "README.md").read_text()
    for (endpoint, arm), seconds in prefill_s.items():
        assert f"| `{endpoint}` | {arm} | {lines[endpoint, arm]['N']} | {seconds:.3f} |" in readme
