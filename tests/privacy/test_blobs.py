"""Pictures and files inside of texts are stored by reference, under every setting."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

BEGIN = 1_790_000_000_000_000_000
BYTES = 3_001
DATA = b"".join(sha256(bytes([n])).digest() for n in range(94))[:BYTES]
BASE64 = b64encode(DATA).decode()
URL = f"data:image/webp;base64,{BASE64}"
SAID = json.dumps([{"role": "user", "content": [{"image_url": {"url": URL}}, "what is it?"]}])
NAMES = ("app.picture", "app.nested", "gen_ai.input.messages")


def span(**attributes: Any) -> str:
    """An OTLP file of one model call with these attributes, and the picture in an event."""
    known = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **attributes}
    picture = {"key": "app.frame", "value": {"stringValue": URL}}
    one = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": "chat m",
        "startTimeUnixNano": str(BEGIN),
        "endTimeUnixNano": str(BEGIN + 10**9),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in known.items()],
        "events": [{"name": "seen", "timeUnixNano": str(BEGIN), "attributes": [picture]}],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]})


def stored(path: Path, text: str, columns: str, **configuration: Any) -> tuple[Any, ...]:
    """The columns of the only span or call, and how many texts were replaced."""
    path.write_text(text)
    with open_for_writing(None) as ledger:
        (result,) = deliver_paths(ledger, [str(path)], Configuration(**configuration))
        assert result.counts is not None
        (row,) = ledger.connection.execute(f"select {columns}").fetchall()
        return (*row, result.counts.masked.get("blob", 0))


@pytest.mark.parametrize("content", ["full", "hash", "off"])
def test_the_bytes_of_a_picture_are_nowhere_and_a_reference_is(
    content: str, tmp_path: Path
) -> None:
    text = span(**{"app.picture": URL, "app.nested": json.dumps({"a": [URL]}), NAMES[2]: SAID})
    attributes, events, count = stored(
        tmp_path / "s.json", text, "attributes, events from spans", content=content
    )
    assert BASE64[100:140] not in attributes + events
    kept = json.loads(attributes)
    reference = kept["app.picture"]
    if content == "off":
        assert reference == f"[blob: image/webp, {BYTES} bytes]"
    else:
        assert reference.startswith(f"[blob: image/webp, {BYTES} bytes, v1:")
    assert json.loads(kept["app.nested"]) == {"a": [reference]}
    assert reference in events
    assert (reference in kept.get(NAMES[2], "")) == (content == "full")
    assert count == (4 if content == "full" else 3)


def test_a_key_hides_what_a_reference_is_of_and_equal_ones_stay_equal(tmp_path: Path) -> None:
    text = span(**{"app.picture": URL, "app.same": f"see {URL}", "app.other": URL + "AAAA"})
    found = [
        json.loads(stored(tmp_path / "s.json", text, "attributes from spans", hash_key=key)[0])
        for key in (None, "k", "other")
    ]
    for kept in found:
        assert kept["app.same"] == f"see {kept['app.picture']}"
        assert kept["app.other"] != kept["app.picture"]
    assert len({kept["app.picture"] for kept in found}) == 3
    assert "v1k:" in found[1]["app.picture"]


def test_the_hash_of_a_prompt_is_of_what_was_sent_under_full_and_hash(tmp_path: Path) -> None:
    text = span(**{NAMES[2]: SAID})
    hashes = {
        stored(tmp_path / "s.json", text, "input_hash from calls", content=content)[0]
        for content in ("full", "hash")
    }
    assert len(hashes) == 1
    assert None not in hashes


def test_the_prompt_of_a_call_record_keeps_its_words_and_no_picture(tmp_path: Path) -> None:
    record = {"call_id": "1", "model": "m", "started_at": BEGIN, "prompt": f"look: {URL} and say"}
    prompt, count = stored(
        tmp_path / "c.jsonl", json.dumps(record), "prompt from contents", content="full"
    )
    assert prompt.startswith(f"look: [blob: image/webp, {BYTES} bytes, v1:")
    assert prompt.endswith("] and say")
    assert count == 1


@pytest.mark.parametrize(
    "text",
    [
        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
        "ACGT" * 2_000,
        "0123456789abcdef" * 400,
        "word " * 4_000,
        "Ab1" * 1_000,
    ],
    ids=["icon", "gene", "hex", "prose", "short"],
)
def test_what_is_small_or_no_base64_stays(text: str, tmp_path: Path) -> None:
    attributes, count = stored(
        tmp_path / "s.json", span(**{"app.text": text}), "attributes from spans", content="full"
    )
    assert json.loads(attributes)["app.text"] == text
    assert count == 1


def test_base64_alone_is_known_by_its_length_and_its_type_by_its_beginning(
    tmp_path: Path,
) -> None:
    jpeg = b64encode(b"\xff\xd8\xff\xe0" + DATA + DATA).decode()
    noise = b64encode(DATA + DATA).decode()
    text = span(**{"app.jpeg": jpeg, "app.noise": noise})
    kept = json.loads(stored(tmp_path / "s.json", text, "attributes from spans")[0])
    assert kept["app.jpeg"].startswith(f"[blob: image/jpeg, {2 * BYTES + 4} bytes, v1:")
    assert kept["app.noise"].startswith(f"[blob: unknown type, {2 * BYTES} bytes, v1:")
