"""The same records delivered again under another privacy setting are duplicates."""

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing
from ingest.store.deliveries import DeliveryCounts

BEGIN = 1_790_000_000_000_000_000
SAID = json.dumps([{"role": "user", "content": "the recipe of joe@example.com"}])
ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.input.messages": SAID,
    "user.id": "joe@example.com",
}
SPAN = {
    "traceId": "ab" * 16,
    "spanId": "cd" * 8,
    "name": "chat m",
    "startTimeUnixNano": str(BEGIN),
    "endTimeUnixNano": str(BEGIN + 10**9),
    "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in ATTRIBUTES.items()],
}
TRACE = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]})
RECORD = json.dumps({"call_id": "1", "model": "m", "started_at": BEGIN, "prompt": "the recipe"})
FILES = {"spans.json": TRACE, "calls.jsonl": RECORD}
FIGURES = "select call_id, model, started_at, ended_at from calls order by all"


def delivered(ledger: Ledger, path: Path, content: Any) -> DeliveryCounts:
    configuration = Configuration(content=content, hash_key="k")
    (result,) = deliver_paths(ledger, [str(path)], configuration)
    assert result.counts is not None
    return result.counts


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("modes", list(permutations(("full", "hash", "off"))), ids="-".join)
def test_a_change_of_the_setting_adds_no_row_and_changes_no_figure(
    name: str, modes: Sequence[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], "utf-8")
    with open_for_writing(None) as ledger:
        assert delivered(ledger, path, modes[0]).new == 1
        figures = ledger.connection.execute(FIGURES).fetchall()
        for mode in [*modes[1:], *modes]:
            counts = delivered(ledger, path, mode)
            assert (counts.read, counts.new, counts.duplicate) == (1, 0, 1)
            assert ledger.connection.execute(FIGURES).fetchall() == figures


@pytest.mark.parametrize("first", ["full", "hash"])
def test_what_the_ledger_has_stays_when_less_is_asked_for(first: str, tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(TRACE, "utf-8")
    question = "select input_hash, user_id from calls"
    with open_for_writing(None) as ledger:
        delivered(ledger, path, first)
        was = ledger.connection.execute(question).fetchall()
        assert was[0][0] is not None
        delivered(ledger, path, "off")
        assert ledger.connection.execute(question).fetchall() == was
