"""A pass as spans: what comes back through ingest is what was measured."""

import dataclasses
from pathlib import Path

import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing
from simulator.client import Outcome, Pass
from simulator.engines.engine import Served
from simulator.errors import ReplayError
from simulator.processor import PhaseSeconds
from simulator.spans import PassIdentity, placed, write_spans
from simulator.statements import statement
from simulator.trace import TracedCall

START = 1_700_000_000 * 1_000_000_000
IDENTITY = PassIdentity(
    scenario="what-if", arm="candidate", number=3, engine="llama.cpp", model="small"
)
CALLS = {
    0: TracedCall(
        call_id="recorded",
        session="s",
        arrived_s=0.0,
        input_tokens=10,
        output_tokens=3,
        ending="e",
        labels={"endpoint": "/chat", "team": "search"},
    ),
    1: TracedCall(
        call_id="other", session="s", arrived_s=0.0, input_tokens=10, output_tokens=3, ending="e"
    ),
}
SERVED = Served(
    cached_tokens=4,
    computed_tokens=6,
    output_tokens=3,
    prompt_s=0.25,
    decode_s=0.5,
    slot=0,
    stop_reason="limit",
)
FINISHED = Outcome(
    position=0,
    intended_s=1.0,
    sent_s=1.002,
    first_token_s=1.75,
    last_token_s=2.2501,
    ended_s=2.2502,
    status="ok",
    http_status=200,
    output_tokens=3,
    served=SERVED,
)
FAILED = Outcome(
    position=1,
    intended_s=3.0,
    sent_s=3.001,
    ended_s=3.5,
    status="timeout",
    http_status=200,
    error="ReadTimeout",
)


def done(*outcomes: Outcome) -> Pass:
    return Pass(
        started_at=START,
        duration_s=4.0,
        outcomes=outcomes,
        client_cpu_ratio=0.1,
        is_interrupted=False,
    )


def test_service_begins_the_prompt_time_before_the_first_token() -> None:
    found = placed(FINISHED, START)
    assert found is not None
    assert found.arrived_at == START + 1_000_000_000
    assert found.started_at == START + 1_500_000_000
    assert found.first_token_at == START + 1_750_000_000
    assert found.ended_at == START + 2_250_000_000


def test_a_prompt_time_longer_than_the_wait_leaves_no_queue() -> None:
    found = placed(Outcome(position=0, intended_s=1.6, first_token_s=1.75, served=SERVED), START)
    assert found is not None
    assert found.started_at == found.arrived_at


def test_a_call_without_an_end_is_not_placed() -> None:
    assert placed(FAILED, START) is None


def test_a_pass_comes_back_as_calls_of_its_scenario(tmp_path: Path) -> None:
    path = tmp_path / "pass.otlp.pb"
    assert write_spans(path, CALLS, done(FINISHED, FAILED), IDENTITY) == 3
    with open_for_writing(None) as ledger:
        (delivery,) = deliver_paths(ledger, [str(path)], Configuration())
        assert delivery.counts is not None
        assert (delivery.counts.new, delivery.counts.rejected) == (3, 0)
        calls = ledger.connection.sql("select * from calls order by arrived_at").pl().to_dicts()
        (charged,) = ledger.connection.sql(
            "select g.prefill_gpu_seconds, g.decode_gpu_seconds from charges as g "
            "inner join calls as c on g.call_no = c.call_no where c.status = 'ok'"
        ).fetchall()
    finished, failed = calls
    instants = ("arrived_at", "started_at", "first_token_at", "ended_at")
    assert [(finished[name] - START) / 1e9 for name in instants] == [1.0, 1.5, 1.75, 2.25]
    assert (finished["uncached_input_tokens"], finished["cache_read_tokens"]) == (6, 4)
    assert (finished["output_tokens"], finished["max_tokens"]) == (3, 3)
    assert (finished["origin"], finished["scenario"], finished["arm"]) == (
        "replay",
        "what-if",
        "candidate",
    )
    assert (finished["endpoint"], finished["team"]) == ("/chat", "search")
    assert (finished["pool"], finished["replica"]) == ("replay llama.cpp", "what-if pass 3")
    assert (finished["timing_source"], finished["timing_quality"]) == ("engine", "ok")
    assert (finished["model"], finished["operation"]) == ("small", "text_completion")
    assert (failed["origin"], failed["status"], failed["error_type"]) == (
        "replay",
        "timeout",
        "timeout",
    )
    assert failed["output_tokens"] is None
    assert charged == pytest.approx((0.25, 0.5), abs=1e-9)


def test_processor_seconds_come_back_by_call_and_are_absent_where_unknown(tmp_path: Path) -> None:
    known, unknown = tmp_path / "known.otlp.pb", tmp_path / "unknown.otlp.pb"
    phases = {0: PhaseSeconds(prefill_s=0.125, decode_s=0.0625)}
    other = dataclasses.replace(IDENTITY, number=4)
    write_spans(known, CALLS, done(FINISHED, FAILED), IDENTITY, phases)
    write_spans(unknown, CALLS, done(FINISHED, FAILED), other)
    with open_for_writing(None) as ledger:
        deliver_paths(ledger, [str(known), str(unknown)], Configuration())
        asked = {"scenario": IDENTITY.scenario}
        rows = ledger.connection.sql(statement("replay_processor"), params=asked).pl()
        traces = ledger.connection.sql(
            "select distinct trace_id from calls where status = 'ok' and replica = 'what-if pass 3'"
        ).fetchall()
    assert rows.rows() == [(traces[0][0], 0.125, 0.0625)]


def test_the_same_pass_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pb", tmp_path / "b.pb"
    write_spans(first, CALLS, done(FINISHED, FAILED), IDENTITY)
    write_spans(second, CALLS, done(FINISHED, FAILED), IDENTITY)
    assert first.read_bytes() == second.read_bytes()


def test_recording_that_the_environment_switches_off_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(ReplayError, match="0 of 2 spans were recorded"):
        write_spans(tmp_path / "a.pb", CALLS, done(FINISHED), IDENTITY)
