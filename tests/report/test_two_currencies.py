"""A bill in two currencies: columns of money are in one, what is in the other is named beside."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import orjson

from dashboard.monthly.gather import monthly_figures
from ingest.config import Configuration, Pool, TokenPrice
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

CONFIGURATION = Configuration(
    currency="USD",
    pools=(Pool(name="chat", models=("llama",), price_per_gpu_hour=Decimal("3.60")),),
    token_prices=(
        TokenPrice(
            model="rented",
            input_per_mtok=Decimal(1),
            output_per_mtok=Decimal(1_000_000),
            currency="EUR",
        ),
    ),
)
BEGIN = int(datetime(2026, 10, 5, tzinfo=UTC).timestamp()) * 10**9


def call(name: str, model: str, endpoint: str) -> bytes:
    return orjson.dumps(
        {
            "call_id": name,
            "model": model,
            "endpoint": endpoint,
            "started_at": BEGIN,
            "first_token_at": BEGIN + 10**9,
            "ended_at": BEGIN + 10 * 10**9,
            "uncached_input_tokens": 0,
            "visible_output_tokens": 7,
        }
    )


def test_a_cost_in_another_currency_is_in_no_column_and_named_in_its_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(call("a", "llama", "/chat") + b"\n" + call("b", "rented", "/rented") + b"\n")
    with open_for_writing(None) as ledger:
        deliver_paths(ledger, [str(path)], CONFIGURATION)
        found = monthly_figures(ledger, CONFIGURATION, "2026-10", "UTC")
    lines = {row["label"]: row for row in found.endpoints.to_dicts()}
    foreign = lines["/rented (7.00 EUR)"]
    assert (foreign["rounded_cost"], foreign["law_cost"]) == (None, None)
    in_usd = [row["rounded_cost"] for row in lines.values() if row["rounded_cost"] is not None]
    assert sum(in_usd) == found.summary.cost
