"""Calls whose times the ledger cannot hold: kept, marked, uncharged, their tokens counted."""

from typing import Any

import orjson
import pytest

from analysis.calls import calls
from analysis.check import check
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger

GOOD_AT, GOOD_END_AT = 1_790_812_800_000_000_000, 1_790_812_810_000_000_000
CONFIGURATION = Configuration(pools=(Pool(name="a", models=("m",)),))
OUTSIDE = "lies outside of the years 1823 to 2116"


def otlp(started_at: Any, ended_at: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m"}
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
    span = {
        "name": "chat m",
        "startTimeUnixNano": str(started_at),
        "endTimeUnixNano": str(ended_at),
        "attributes": attributes | usage,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def native(started_at: Any, ended_at: Any) -> dict[str, Any]:
    tokens = {"input_tokens": 100, "output_tokens": 10}
    return {"model": "m", "started_at": started_at, "ended_at": ended_at, **tokens}


@pytest.mark.parametrize("record", [otlp, native])
def test_a_call_of_the_year_1_or_9999_keeps_its_tokens_and_gets_no_charge(
    ledger: Ledger, tmp_path: Any, record: Any
) -> None:
    times = [
        (GOOD_AT, GOOD_END_AT),
        (-62135596800000000000, GOOD_END_AT),
        (GOOD_AT, 253402300799000000000),
    ]
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps(record(*map(str, pair))) for pair in times))
    (result,) = deliver_paths(ledger, [str(path)], CONFIGURATION)
    assert (result.counts.new, result.counts.rejected) == (3, 0)
    kept = ledger.connection.execute(
        "select timing_quality, input_tokens, tokens_note from calls order by all"
    ).fetchall()
    assert [quality for quality, _, _ in kept] == ["invalid", "invalid", "ok"]
    assert sum(tokens for _, tokens, _ in kept) == 300
    assert all(note.endswith(OUTSIDE) for quality, _, note in kept if quality == "invalid")
    charged = "select round(sum(prefill_gpu_seconds + decode_gpu_seconds), 6) from charges"
    assert ledger.connection.execute(charged).fetchall() == [(10.0,)]


def test_a_call_of_2262_shows_no_other_time_and_says_why_it_has_no_price(
    ledger: Ledger, tmp_path: Any
) -> None:
    path = tmp_path / "calls.jsonl"
    times = [(GOOD_AT, GOOD_END_AT), ("2262-09-10T00:01:20Z", "2262-09-10T00:01:21Z")]
    path.write_bytes(b"\n".join(orjson.dumps(native(*pair) | {"pool": "a"}) for pair in times))
    deliver_paths(ledger, [str(path)], CONFIGURATION)
    good, beyond = calls(ledger, CONFIGURATION).frame.to_dicts()
    assert good["started_at"] == "2026-10-01T00:00:00.000000000+00:00"
    assert [beyond[name] for name in ("arrived_at", "started_at", "ended_at")] == [None] * 3
    assert beyond["unpriced_reason"] == f"its times {OUTSIDE.replace('lies', 'lie')}"
    found = {row["check"]: row["evidence"] for row in check(ledger, CONFIGURATION).frame.to_dicts()}
    assert found["times outside of the years 1823 to 2116"] == "1 call"
    assert found["times contradict each other"] == "0 calls"
    assert "(its times lie outside of the years 1823 to 2116)" in found["without a price"]
