"""Secrets planted in every place of what comes in are in no place of what is stored."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from ingest.config import Configuration
from ingest.deliver import deliver, deliver_paths
from ingest.files import RefusedSourceError, Source, open_sources
from ingest.ledger import open_for_writing
from ingest.masking.names import is_id_name
from ingest.masking.records import CALL_TEXTS
from ingest.readers import recognise
from ingest.receiver.beside import inbox_path
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import JSON
from ingest.receiver.reception import Limits, Reception
from ingest.receiver.settle import Settler
from ingest.receiver.signals import TRACES

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"
BEGIN = 1_790_000_000_000_000_000
MODES = ["full", "hash", "off"]
MAPPED = {"team": ("attribute.squad",), "tenant": ("resource.customer",)}
FREE = sorted(
    set(CALL_TEXTS)
    - {"origin", "status", "timing_source", "timing_quality", "tokens_source", "pairing"}
)
"""Columns of a call that take any text."""


def configured(content: Any, **more: Any) -> Configuration:
    return Configuration(content=content, hash_key="k", map=MAPPED, **more)


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": value if isinstance(value, dict) else {"stringValue": value}}
        for key, value in values.items()
    ]


def otlp(plant: Any) -> dict[str, Any]:
    """One trace of a route, a chat, a tool and a retrieval, with a plant wherever one can stand."""
    nested = {
        "kvlistValue": {
            "values": attributes(
                {"inner": plant.text("nested value"), plant.text("nested key"): "x"}
            )
        }
    }
    listed = {"arrayValue": {"values": [{"stringValue": plant.text("list")}]}}
    route = {
        "http.route": "/ask",
        "note": plant.text("attribute"),
        plant.text("name of an attribute"): "x",
        "nested": nested,
        "listed": listed,
        "http.request.header.authorization": "Bearer " + plant.text("header"),
        "metadata": json.dumps(
            {"user_id": plant.text("user in metadata"), "a": [plant.text("metadata")]}
        ),
        "squad": plant.text("mapped attribute"),
    }
    said = [{"role": "user", "parts": [{"type": "text", "content": plant.content("prompt")}]}]
    answered = [{"role": "assistant", "content": plant.content("completion")}]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "user.id": plant.text("user", is_id=True),
        "gen_ai.conversation.id": plant.text("conversation", is_id=True),
        "gen_ai.response.id": plant.text("response id", is_id=True),
        "gen_ai.system_instructions": plant.content("system instructions"),
        "gen_ai.input.messages": json.dumps(said),
        "gen_ai.output.messages": json.dumps(answered),
        "gen_ai.tool.definitions": json.dumps([{"name": plant.content("tool definition")}]),
        "gen_ai.request.stop_sequences": plant.text("stop"),
        "error.type": plant.text("error type"),
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": plant.text("name of a tool"),
        "gen_ai.tool.call.arguments": json.dumps({"q": plant.content("tool arguments")}),
        "gen_ai.tool.call.result": plant.content("tool result"),
    }
    found = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": plant.content("retrieval query"),
        "retrieval.documents.0.document.content": plant.content("document"),
    }
    events = [
        {
            "name": "exception",
            "attributes": attributes({"exception.message": plant.text("exception")}),
        },
        {
            "name": plant.text("name of an event"),
            "attributes": attributes({"a": plant.text("event")}),
        },
        {
            "name": "gen_ai.user.message",
            "attributes": attributes({"content": plant.content("message event")}),
        },
    ]
    spans = [
        span(
            1, plant.text("span name"), route, status={"code": 2, "message": plant.text("status")}
        ),
        span(2, "chat m", chat, parent=1, events=events, traceState=plant.text("trace state")),
        span(
            3, "tool", tool, parent=1, links=[{"attributes": attributes({"l": plant.text("link")})}]
        ),
        span(4, plant.text("retrieval source"), found, parent=1),
        {"traceId": plant.text("bad trace id"), "spanId": "1", "name": plant.text("rejected span")},
    ]
    resource = {"customer": plant.text("mapped resource"), "service.name": plant.text("service")}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource)},
                "scopeSpans": [{"scope": {"name": plant.text("scope")}, "spans": spans}],
            }
        ]
    }  # fmt: skip


def span(
    number: int, name: str, said: dict[str, Any], *, parent: int | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "traceId": "ab" * 16,
        "spanId": f"{number:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(BEGIN + number),
        "endTimeUnixNano": str(BEGIN + 10**9 - number),
        "attributes": attributes(said),
        **more,
    }


def by_file(folder: Path, body: bytes, configuration: Configuration, name: str = "s.json") -> None:
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / name
    path.write_bytes(body)
    with open_for_writing(folder / "l.duckdb") as ledger:
        deliver_paths(ledger, [str(path)], configuration)


def by_receiver(folder: Path, body: bytes, configuration: Configuration) -> None:
    """Through the inbox, which keeps its bytes, into the ledger."""
    path = folder / "l.duckdb"
    meter = MeterProvider().get_meter("test")
    with Inbox(inbox_path(path), max_bytes=2**30) as inbox:
        reception = Reception(configuration, inbox, Limits(), meter, clock=lambda: BEGIN)
        _, stored = reception.take(TRACES, body, JSON, "OTLP/HTTP")
        stored.result(timeout=60)
        Settler(path, inbox, configuration).settle()
        _, stored = reception.take(TRACES, body, JSON, "OTLP/HTTP")
        stored.result(timeout=60)


DOORS = {"file": by_file, "receiver": by_receiver}


@pytest.mark.parametrize("content", MODES)
@pytest.mark.parametrize("door", DOORS)
def test_no_secret_of_a_trace_is_stored_anywhere(
    door: str, content: str, plant: Any, tmp_path: Path
) -> None:
    DOORS[door](tmp_path, json.dumps(otlp(plant)).encode(), configured(content))
    assert len(plant.secrets) > 100
    assert plant.secrets_in(tmp_path) == set()
    kept = {*plant.words.values()} if content == "full" else set()
    assert plant.words_in(tmp_path) == kept


@pytest.mark.parametrize("door", DOORS)
def test_off_stores_no_hash_either(
    door: str, plant: Any, tmp_path: Path, texts_of: Any, any_fingerprint: Any
) -> None:
    configuration = configured("off", user_ids="off")
    DOORS[door](tmp_path, json.dumps(otlp(plant)).encode(), configuration)
    assert [text for text in texts_of(tmp_path) if any_fingerprint.search(text)] == []


def test_the_walk_finds_what_is_not_masked(plant: Any, tmp_path: Path) -> None:
    configuration = configured("full", mask=())
    by_file(tmp_path, json.dumps(otlp(plant)).encode(), configuration)
    lost = {*plant.secrets.values()} - plant.secrets_in(tmp_path)
    assert {where.partition(" in ")[2] for where in lost} <= {"link", "trace state", "bad trace id"}


@pytest.mark.parametrize("content", MODES)
def test_no_secret_of_a_record_of_a_call_is_stored_anywhere(
    content: str, plant: Any, tmp_path: Path
) -> None:
    records = [
        {column: plant.text(column, is_id=CALL_TEXTS[column] == "id")}
        if column not in {"prompt", "completion"}
        else {column: plant.content(column)}
        for column in FREE
    ]
    records += [
        {column: plant.text(column, is_id=True)} for column in ("user_id", "call_id", "retry_of")
    ]
    records += [{plant.text("unknown column"): 1}, {"status": plant.text("status of a call")}]
    lines = [json.dumps({"started_at": BEGIN, "model": "m", **record}) for record in records]
    lines.append("{" + plant.text("no JSON"))
    by_file(tmp_path, "\n".join(lines).encode(), configured(content), f"{plant.text('file')}.jsonl")
    assert plant.secrets_in(tmp_path) == set()
    kept = {*plant.words.values()} if content == "full" else set()
    assert plant.words_in(tmp_path) == kept


def leaves(value: Any, path: tuple[Any, ...] = (), name: str = "") -> Iterator[tuple[Any, str]]:
    """The path and the name of every text in `value`; `{"key": NAME, "value": …}` names it too."""
    if isinstance(value, dict):
        for key, item in value.items():
            known_as = value.get("key", key) if key == "value" else key
            inherits = key.endswith("Value") and len(value) == 1
            yield from leaves(item, (*path, key), name if inherits else str(known_as))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index), name)
    elif isinstance(value, str):
        yield path, name


def planted(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """`value` with `text` at `path`."""
    if not path:
        return text
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = planted(value[path[0]], path[1:], text)
    return copy


def documents_in(path: Path) -> list[Any]:
    """The JSON documents of a fixture; a line that is none is left out."""
    lines = path.read_text("utf-8").split("\n")
    texts = lines if path.suffix == ".jsonl" else ["\n".join(lines)]
    documents = []
    for text in texts:
        with suppress(ValueError):
            documents.append(json.loads(text))
    return documents


def variants(path: Path, plant: Any, most: int = 4) -> Iterator[bytes]:
    """The file with a plant in one of its texts, for some of them, spread over the file."""
    documents = documents_in(path)
    found = list(leaves(documents))
    for place, name in found[:: max(1, len(found) // most)]:
        text = plant.text(f"{path.name} {place}", is_id=is_id_name(name))
        changed = planted(documents, place, text)
        yield "\n".join(json.dumps(one) for one in changed).encode()


def test_no_secret_in_any_text_of_any_format_is_stored_anywhere(plant: Any, tmp_path: Path) -> None:
    taken_count = 0
    with open_for_writing(tmp_path / "l.duckdb") as ledger:
        for path in sorted([*FIXTURES.glob("*.json"), *FIXTURES.glob("*.jsonl")]):
            (opened,) = open_sources([str(path)])
            assert not isinstance(opened, RefusedSourceError)
            reader = recognise(opened)
            for body in variants(path, plant):
                source = Source(path.name, partial(BytesIO, body), size_bytes=len(body))
                with suppress(RefusedSourceError):
                    deliver(ledger, source, reader, configured("full"))
                    taken_count += 1
    assert taken_count > 100
    assert len(plant.secrets) > 500
    assert plant.secrets_in(tmp_path) == set()
