"""Ledgers with calls and with what an engine counted meanwhile."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

LedgerOf = Callable[..., Ledger]


@pytest.fixture
def text_of() -> Callable[..., str]:
    """A function from scrapes, begin in nanoseconds and a mark to Prometheus text."""
    return _text_of


def _text_of(scrapes: Mapping[float, Sequence[str]], begin: int, mark: str = "") -> str:
    """Scrapes as a text: seconds after `begin` to the lines of each."""
    lines = []
    for at_s, found in scrapes.items():
        at = begin + round(at_s * 1e9)
        lines += [f"# scraped_at {_rfc3339(at)}{mark}", *found]
    return "\n".join(lines) + "\n"


def _rfc3339(at: int) -> str:
    whole, below = divmod(at, 10**9)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{below:09d}Z"


@pytest.fixture
def ledger_of() -> Iterator[LedgerOf]:
    """A function from calls in the native format and texts of metrics to a charged ledger."""
    with ExitStack() as stack:

        def build(
            calls: Sequence[dict[str, Any]], texts: Sequence[str], configuration: Configuration
        ) -> Ledger:
            ledger = stack.enter_context(open_for_writing(None))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            paths = []
            if calls:
                path = folder / "calls.jsonl"
                path.write_bytes(b"\n".join(orjson.dumps(call) for call in calls))
                paths.append(path)
            for number, text in enumerate(texts):
                path = folder / f"metrics-{number}.txt"
                path.write_text(text)
                paths.append(path)
            results = deliver_paths(ledger, [str(path) for path in paths], configuration)
            assert [result.error for result in results] == [None] * len(paths)
            assert sum(r.counts.rejected for r in results if r.counts is not None) == 0
            return ledger

        yield build
