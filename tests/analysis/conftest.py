"""Ledgers for questions: calls in the native format, delivered and charged as a user's are."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

LedgerOf = Callable[..., Ledger]


@pytest.fixture(scope="module")
def ledger_of() -> Iterator[LedgerOf]:
    """A function from calls (columns of the native format) and a configuration to a ledger."""
    with ExitStack() as stack:

        def build(calls: Sequence[dict[str, Any]], configuration: Configuration) -> Ledger:
            ledger = stack.enter_context(open_for_writing(None))
            if calls:
                deliver_calls(ledger, calls, configuration)
            return ledger

        yield build


@pytest.fixture(scope="session")
def deliver() -> Callable[..., None]:
    """Delivers more calls to a ledger that has some."""
    return deliver_calls


def deliver_calls(
    ledger: Ledger, calls: Sequence[dict[str, Any]], configuration: Configuration
) -> None:
    """Deliver `calls` as a file of JSON lines; every one of them must be taken."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.jsonl"
        path.write_text("".join(json.dumps(call) + "\n" for call in calls))
        results = deliver_paths(ledger, [str(path)], configuration, format_name="native")
    assert [result.error for result in results] == [None]
    counts = results[0].counts
    assert counts is not None
    assert (counts.read, counts.rejected) == (len(calls), 0)
