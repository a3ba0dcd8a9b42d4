"""An engine that is scraped and sends OTLP as well is counted once."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from analysis.engine import engine
from analysis.engine_checks import engine_findings
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 10**9
BEGIN = 1_790_841_600 * S
"""2026-10-01T08:00:00Z."""
CHAT = Configuration(pools=(Pool(name="chat", models=("llama",), replicas=1),))
HERE = " instance=10.0.0.7:8000"
AT = (0, 10, 20, 30)

LedgerOf = Callable[..., Ledger]
TextOf = Callable[..., str]


def call(name: str, replica: str = "10.0.0.7:8000") -> dict[str, Any]:
    """A call in service for the first 30 s."""
    return {
        "call_id": name,
        "model": "llama",
        "replica": replica,
        "timing_source": "engine",
        "arrived_at": BEGIN,
        "started_at": BEGIN,
        "first_token_at": BEGIN + 10 * S,
        "ended_at": BEGIN + 30 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 60,
    }


def scraped(text_of: TextOf, mark: str = HERE, at: tuple[int, ...] = AT, engines: str = "0") -> str:
    """One call running and two tokens a second, as Prometheus text."""
    lines = {
        second: [
            f'vllm:{name}{{engine="{number}",model_name="llama"}} {value}'
            for number in engines
            for name, value in (
                ("num_requests_running", 1),
                ("generation_tokens_total", 2 * second),
            )
        ]
        for second in at
    }
    return text_of(lines, BEGIN, mark)


def sent(at: tuple[int, ...] = AT, **resource: str) -> str:
    """The same of the same time as OTLP in JSON, with what the resource says of itself."""
    attributes = [{"key": "model_name", "value": {"stringValue": "llama"}}]
    about = [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in resource.items()
    ]
    running, tokens = (
        [
            {"timeUnixNano": str(BEGIN + second * S), "asDouble": value, "attributes": attributes}
            for second, value in points
        ]
        for points in (((second, 1.0) for second in at), ((second, 2.0 * second) for second in at))
    )
    grown = {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": tokens}
    metrics = [
        {"name": "vllm:num_requests_running", "gauge": {"dataPoints": running}},
        {"name": "vllm:generation_tokens", "sum": grown},
    ]
    scoped = {"resource": {"attributes": about}, "scopeMetrics": [{"metrics": metrics}]}
    return json.dumps({"resourceMetrics": [scoped]})


def figures(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["sampled_s"], row["running_calls"], row["output_tokens"], row["B_calls"]


ONCE = (30.0, 1.0, 60.0, 1.0)


@pytest.mark.parametrize(
    "resource",
    [
        {"service__instance__id": "10.0.0.7:8000"},
        {"service__instance__id": "7f3a", "k8s__pod__name": "10.0.0.7:8000", "pool": "chat"},
    ],
    ids=["the same instance", "the same pod"],
)
def test_an_engine_that_comes_by_two_ways_is_counted_once_and_said(
    ledger_of: LedgerOf, text_of: TextOf, resource: dict[str, str]
) -> None:
    ledger = ledger_of([call("a")], [scraped(text_of), sent(**resource)], CHAT)
    answer = engine(ledger, window=Window())
    assert [figures(row) for row in answer.frame.to_dicts()] == [ONCE]
    (note,) = [note for note in answer.notes if "several ways" in note]
    assert note == (
        "10.0.0.7:8000 comes by several ways and is counted once: read is Prometheus text with "
        "labels engine, model_name, and not OTLP with labels model_name at the same time"
    )
    evidence = [finding.evidence for finding in engine_findings(ledger)]
    assert "output 60 of 60 (100.0%)" in evidence[1]


def test_the_way_with_more_samples_is_read(ledger_of: LedgerOf, text_of: TextOf) -> None:
    texts = [scraped(text_of, at=(0, 30)), sent(service__instance__id="10.0.0.7:8000")]
    answer = engine(ledger_of([call("a")], texts, CHAT), window=Window())
    assert [figures(row) for row in answer.frame.to_dicts()] == [ONCE]
    assert answer.frame["busy_samples"].to_list() == [3]
    assert any("read is OTLP with labels model_name, and not Prom" in n for n in answer.notes)


def test_before_and_after_the_way_that_is_read_the_other_one_is(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    late = (20, 30, 40)
    texts = [scraped(text_of), sent(at=late, service__instance__id="10.0.0.7:8000")]
    answer = engine(ledger_of([call("a")], texts, CHAT), window=Window())
    (row,) = answer.frame.to_dicts()
    assert (row["sampled_s"], row["output_tokens"]) == (40.0, 80.0)


def test_ranks_of_an_engine_by_one_way_are_still_added_up(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    texts = [scraped(text_of, engines="01"), sent(service__instance__id="10.0.0.7:8000")]
    answer = engine(ledger_of([call("a")], texts, CHAT), window=Window())
    (row,) = answer.frame.to_dicts()
    assert (row["running_calls"], row["output_tokens"]) == (2.0, 120.0)


def test_engines_that_share_no_name_are_added_up_and_said(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    texts = [scraped(text_of), sent(service__instance__id="7f3a")]
    ledger = ledger_of([call("a") | {"replica": None}], texts, CHAT)
    answer = engine(ledger, window=Window())
    (row,) = answer.frame.to_dicts()
    assert (row["sampled_s"], row["output_tokens"]) == (60.0, 120.0)
    assert any("share no instance and no pod, so all are added up" in n for n in answer.notes)


def test_a_pod_with_two_engines_is_not_one_with_what_it_sends(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    both = [
        scraped(text_of, mark=f" instance=pod:{port}").replace("engine=", 'pod="pod",engine=')
        for port in (8000, 8001)
    ]
    texts = [*both, sent(k8s__pod__name="pod")]
    ledger = ledger_of([call("a") | {"replica": None}], texts, CHAT)
    answer = engine(ledger, window=Window())
    assert answer.frame["output_tokens"].to_list() == [180.0]
    assert any("1 engine by OTLP and 2 by other ways share" in note for note in answer.notes)
