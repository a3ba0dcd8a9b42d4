"""`config show --call` says which rule and which attribute gave each column of a call."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analysis.errors import NoDataError, WrongQuestionError
from analysis.mapping import mapping
from gpuledger.main import gpuledger
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

OUTER_NAMES = (
    "name of the root span = step 1; service and operation = shop chat; "
    "name of the outermost span = step 1"
)
CONFIGURED = Configuration(
    pools=(Pool(name="gpus", models=("m-2026",)),),
    map={"tenant": ("resource.absent", "resource.k8s.namespace.name")},
)
RESOURCE = {"service.name": "shop", "k8s.namespace.name": "store", "team": "support"}
USAGE = {
    "gen_ai.usage.input_tokens": 1000,
    "gen_ai.usage.prompt_tokens": 1001,
    "gen_ai.usage.output_tokens": 200,
}


def valued(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", int: "intValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in attributes.items()]


def spans_file(folder: Path, trace: str = "a" * 32) -> Path:
    """A request of the product with one chat in it, as OTLP JSON."""

    def span(number: int, parent: str, kind: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {
            "traceId": trace,
            "spanId": f"{number:016x}",
            "parentSpanId": parent,
            "name": f"step {number}",
            "kind": kind,
            "startTimeUnixNano": str(1_795_000_000_000_000_000 + number),
            "endTimeUnixNano": str(1_795_000_010_000_000_000 - number),
            "attributes": valued(attributes),
        }

    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.id": "r1",
        **USAGE,
    }
    spans = [span(1, "", 2, {"http.route": "/ask"}), span(2, f"{1:016x}", 3, chat)]
    path = folder / f"{trace[:4]}.json"
    resource = {"attributes": valued(RESOURCE)}
    resource_spans = [{"resource": resource, "scopeSpans": [{"spans": spans}]}]
    path.write_text(json.dumps({"resourceSpans": resource_spans}))
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Any:
    """The rows of `mapping` for the one call of the trace, by column."""

    def explained(*extra: Path) -> dict[str, dict[str, Any]]:
        with open_for_writing(None) as ledger:
            paths = [str(path) for path in (spans_file(tmp_path), *extra)]
            assert all(done.counts for done in deliver_paths(ledger, paths, CONFIGURED))
            rows = mapping(ledger, CONFIGURED, "aaaa").frame.to_dicts()
        return {row["column"]: row for row in rows}

    return explained


@pytest.mark.parametrize(
    "row",
    [
        (
            "endpoint",
            "/ask",
            "route",
            "http.route of the nearest server span",
            OUTER_NAMES,
        ),
        ("team", "support", "default", "resource.team", "resource.k8s.namespace.name = store"),
        ("tenant", "store", "[map]", "resource.k8s.namespace.name", None),
        (
            "model",
            "m-2026",
            "span",
            "attribute.gen_ai.response.model of span 0000000000000002",
            "attribute.gen_ai.request.model of span 0000000000000002 = m",
        ),
        ("pool", "gpus", "[[pools]]", "pools[0].models lists m-2026", None),
        (
            "reported_input_tokens",
            "1000",
            "span",
            "attribute.gen_ai.usage.input_tokens of span 0000000000000002",
            "attribute.gen_ai.usage.prompt_tokens of span 0000000000000002 = 1001",
        ),
        ("region", None, "unknown", None, None),
    ],
)
def test_a_column_names_its_rule_its_source_and_what_did_not_win(
    facts: Any, row: tuple[str | None, ...]
) -> None:
    found = facts()[row[0]]
    assert tuple(found[name] for name in ("column", "value", "rule", "source", "others")) == row


def test_what_another_view_of_a_joined_call_told_is_of_its_record(
    facts: Any, tmp_path: Path
) -> None:
    log = {
        "call_id": "f" * 32,
        "operation": "chat",
        "model": "m-2026",
        "feature": "search",
        "response_id": "r1",
        "arrived_at": "2026-11-18T11:06:41Z",
        "started_at": "2026-11-18T11:06:41Z",
        "ended_at": "2026-11-18T11:06:49Z",
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 200,
    }
    path = tmp_path / "gateway.jsonl"
    path.write_text(json.dumps(log) + "\n")
    found = facts(path)
    assert (found["endpoint"]["value"], found["endpoint"]["rule"]) == ("/ask", "route")
    assert (found["feature"]["value"], found["feature"]["rule"]) == ("search", "record")


def test_a_call_that_is_not_there_or_not_the_only_one_is_refused_in_words(tmp_path: Path) -> None:
    with open_for_writing(None) as ledger:
        paths = [str(spans_file(tmp_path, digit * 32)) for digit in "ab"]
        deliver_paths(ledger, paths, CONFIGURED)
        with pytest.raises(NoDataError, match="no call and no trace with a call begins with 'zz'"):
            mapping(ledger, CONFIGURED, "zz")
        with pytest.raises(WrongQuestionError, match="is of several calls, such as"):
            mapping(ledger, CONFIGURED, "")


def test_the_command_prints_the_same_cells_as_json(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with open_for_writing(path) as ledger:
        deliver_paths(ledger, [str(spans_file(tmp_path))], Configuration())
    asked = ["config", "show", "--call", "aaaa", "--ledger", str(path), "--format", "json"]
    done = CliRunner().invoke(gpuledger, asked, env={"GPULEDGER_CONFIG": None})
    assert (done.exit_code, done.exception) == (0, None)
    rows = json.loads(done.stdout)
    assert (rows[0]["column"], rows[0]["value"], rows[0]["rule"]) == ("endpoint", "/ask", "route")
