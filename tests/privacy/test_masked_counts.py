"""What was masked is said: by the command, and by the receiver's own metrics."""

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from gpuledger.main import main
from ingest.config import Configuration
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import JSON
from ingest.receiver.reception import Limits, Reception
from ingest.receiver.signals import TRACES

SPAN = {
    "traceId": "ab" * 16,
    "spanId": "cd" * 8,
    "name": "pay with 4111 1111 1111 1111",
    "startTimeUnixNano": "1790000000000000000",
    "endTimeUnixNano": "1790000001000000000",
    "attributes": [{"key": "by", "value": {"stringValue": "joe@example.com"}}],
}
BODY = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]})


def test_the_command_tells_how_many_texts_each_mask_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spans.json"
    file.write_text(BODY, "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["ingest", str(file), "--ledger", str(tmp_path / "l.duckdb")])
    assert ended.value.code == 0
    assert f"masked: {file}: 1 × card, 1 × email" in capsys.readouterr().err


def points(reader: InMemoryMetricReader) -> dict[Any, int]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        (metric.name, point.attributes["mask"]): point.value
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
        if "mask" in point.attributes
    }


def test_the_receiver_counts_them_in_its_metrics(tmp_path: Path) -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    with Inbox(tmp_path / "i.inbox", max_bytes=2**20) as inbox:
        reception = Reception(Configuration(), inbox, Limits(), meter)
        for _ in range(2):
            _, stored = reception.take(TRACES, BODY.encode(), JSON, "OTLP/HTTP")
            stored.result(timeout=60)
    assert points(reader) == {
        ("gpuledger.receiver.masked", "card"): 2,
        ("gpuledger.receiver.masked", "email"): 2,
    }
