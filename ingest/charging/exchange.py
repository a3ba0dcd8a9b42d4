"""Dated exchange rates into the configured currency.

Owns over which time each rate holds, and the words that an amount converted by it is told with.
Refuses a rate into any other currency: nothing is converted twice.
"""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from ingest.charging.kernel import NS_PER_S
from ingest.config import Configuration, instant_ns

EXCHANGE_COLUMNS: dict[str, pa.DataType] = {
    "source": pa.string(),
    "target": pa.string(),
    "since": pa.int64(),
    "until": pa.int64(),
    "rate": pa.decimal128(18, 9),
    "note": pa.string(),
}


def exchange_rows(configuration: Configuration) -> list[dict[str, Any]]:
    """The dated rates into the configured currency; each holds until the next from its source."""
    rows = []
    rates = [
        (rate.source, instant_ns(rate.effective_from) or 0, rate.rate)
        for rate in configuration.exchange_rates
        if rate.target == configuration.currency != rate.source
    ]
    following: dict[str, int] = {}
    for source, since, rate in sorted(rates, reverse=True):
        day = datetime.fromtimestamp(since // NS_PER_S, UTC).date()
        note = f"1 {source} = {rate} {configuration.currency} since {day}"
        row = {"source": source, "target": configuration.currency, "rate": rate, "note": note}
        rows.append(row | {"since": since, "until": following.get(source)})
        following[source] = since
    return rows
