"""Several exports of the same calls are those calls once, in whichever order they come."""

from pathlib import Path

import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

TOTALS = """
select
    count(*) as call_count,
    sum(input_tokens) as input_tokens,
    sum(output_tokens) as output_tokens,
    cast(sum(reported_cost) as varchar) as reported_cost
from calls
"""


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("names", "totals", "span_count"),
    [
        (
            ("langfuse.json", "langfuse.csv", "langfuse-observations.jsonl"),
            (2, 1_000, 50, "0.003000000"),
            5,
        ),
        (("langsmith.json", "langsmith-runs.jsonl"), (2, 1_000, 50, "0.004000000"), 4),
        (
            ("litellm.jsonl", "litellm.csv", "litellm-payload.jsonl"),
            (4, 1_007, 50, "0.004500000"),
            0,
        ),
        (("openai.jsonl", "openai-batch.jsonl"), (7, 2_020, 110, None), 0),
    ],
)
def test_no_call_is_counted_twice(  # noqa: PLR0917 - a row of the table, and fixtures
    tmp_path: Path,
    fixtures: Path,
    names: tuple[str, ...],
    totals: tuple[int | str | None, ...],
    span_count: int,
    is_reversed: bool,
) -> None:
    ordered = names[::-1] if is_reversed else names
    paths = [str(fixtures / name) for name in ordered]
    with open_for_writing(tmp_path / "ledger.duckdb") as ledger:
        results = deliver_paths(ledger, paths, Configuration())
        found = ledger.connection.execute(TOTALS).fetchone()
        spans = ledger.connection.execute("select count(*) from spans").fetchone()
    counts = [result.counts for result in results if result.counts is not None]
    assert [c.read for c in counts] == [c.new + c.duplicate for c in counts]
    assert (found, spans) == (totals, (span_count,))
