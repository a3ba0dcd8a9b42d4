"""Calls that are priced by the token: what each cost, at the price in force at its time.

Owns `token_charges`. Prices are, in this order, those of the configuration, the cost that the call
itself reports, those of the public catalogue; an answer out of a gateway's cache costs 0. What
a flat plan pays costs its share of the plan (docs/adr/0010). Refuses
to invent: a call whose model, tokens or time are not known has no row, and is shown as unpriced.

A price once given stays: a newer catalogue prices the calls that come after it, and the others
only when the prices of the configuration change.
"""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ingest.charging.catalogue import entry_windows, find_entry, is_azure, sellers_of
from ingest.charging.exchange import EXCHANGE_COLUMNS, exchange_rows
from ingest.charging.pieces import DAY_NS
from ingest.charging.plans import (
    COVER_COLUMNS,
    STRETCH_COLUMNS,
    covered_cohorts,
    plan_stretches,
)
from ingest.charging.price_windows import NO_TOKENS, PriceWindow, UnitPrices, give_way
from ingest.charging.statements import statement
from ingest.config import Configuration, TokenPrice, instant_ns
from ingest.ledger import Connection

CONFIGURATION_SOURCE = "configuration"
PRICE_WINDOWS = "price_windows"
PRICE = pa.decimal128(22, 16)
"""Money for one token: a price per million tokens with ten digits behind the point."""
PRICE_STEP = Decimal("1e-16")

WINDOW_COLUMNS: dict[str, pa.DataType] = {
    "model_no": pa.int32(),
    "since": pa.int64(),
    "until": pa.int64(),
    "day_from": pa.int64(),
    "day_until": pa.int64(),
    "tokens_over": pa.int64(),
    "tokens_upto": pa.int64(),
    "input_price": PRICE,
    "output_price": PRICE,
    "cache_read_price": PRICE,
    "cache_write_price": PRICE,
    "reasoning_price": PRICE,
    "request_price": PRICE,
    "currency": pa.string(),
    "price_source": pa.string(),
    "price_rule": pa.string(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RentedModel:
    """What distinguishes the price of one call from that of another but for tokens and time."""

    model_no: int
    provider: str | None
    model: str | None
    model_requested: str | None


def price_stale_days(connection: Connection, configuration: Configuration) -> int:
    """How many calls got a cost on the days that are stale; those days are then no more stale."""
    register_price_windows(connection, configuration)
    _register(connection, "exchange", exchange_rows(configuration), EXCHANGE_COLUMNS)
    _register(
        connection, "plan_stretches", _stretch_rows(connection, configuration), STRETCH_COLUMNS
    )
    covered = covered_cohorts(connection, configuration.plans)
    _register(connection, "plan_cohorts", covered, COVER_COLUMNS)
    connection.execute(statement("token_charges_forget"))
    connection.execute(statement("listed_costs"))
    added = connection.execute(statement("token_charges_add"), {"currency": configuration.currency})
    [(priced,)] = added.fetchall()
    if configuration.plans:
        connection.execute(statement("token_charges_spread"))
    connection.execute(statement("token_partitions_settle"))
    for name in ("plan_cohorts", "plan_stretches", "exchange", PRICE_WINDOWS):
        connection.unregister(name)
    return int(priced)


def register_price_windows(connection: Connection, configuration: Configuration) -> None:
    """Make the tables `rented_cohorts` and `price_windows`: prices of each model over time.

    They are those of the configuration and of today's catalogue. Whoever asks unregisters
    `price_windows`.
    """
    connection.execute(statement("rented_cohorts"))
    windows = [
        _window_row(model.model_no, window)
        for model in _rented_models(connection)
        for window in price_windows(model, configuration.token_prices, configuration.currency)
    ]
    _register(connection, PRICE_WINDOWS, windows, WINDOW_COLUMNS)


def _stretch_rows(connection: Connection, configuration: Configuration) -> list[dict[str, Any]]:
    """The stretches of plans in every month that has a stale day."""
    [(first_day, last_day)] = connection.execute(statement("stale_days")).fetchall()
    if first_day is None:
        return []
    since, until = first_day * DAY_NS, (last_day + 1) * DAY_NS
    return [asdict(stretch) for stretch in plan_stretches(configuration, since, until)]


def _rented_models(connection: Connection) -> list[RentedModel]:
    found = connection.sql(
        "select distinct model_no, provider, model, model_requested from rented_cohorts"
    )
    return [RentedModel(**row) for row in found.to_arrow_table().to_pylist()]


def price_windows(
    model: RentedModel, configured: Sequence[TokenPrice], currency: str
) -> list[PriceWindow]:
    """The prices of `model` over time; an entry that names a provider wins over one without."""
    entries = [price for price in configured if price.model in (model.model, model.model_requested)]
    general = [price for price in entries if price.provider is None]
    own = [price for price in entries if price.provider == model.provider is not None]
    windows = give_way(_listed(model), _configured(general, currency))
    return give_way(windows, _configured(own, currency))


def _listed(model: RentedModel) -> list[PriceWindow]:
    """Prices of the catalogue: by the model that answered, else by the one that was asked for.

    A deployment of Azure has a name of its own, which says nothing of the model behind it: a model
    that is only what was asked for is not known there.
    """
    name = model.model or model.model_requested
    if is_azure(model.provider) and name == model.model_requested:
        return []
    entry = None if name is None else find_entry(model.provider, name)
    return [] if entry is None else [w for w in entry_windows(entry) if w.prices.is_known]


def offers_of(
    model_name: str, configured: Sequence[TokenPrice], currency: str
) -> dict[str, list[PriceWindow]]:
    """At which prices the model of this name can be had by the token, by who says so.

    Prices of the configuration alone where it has some, else those of every seller of the
    catalogue; but for sellers whose prices depend on the time of day or the length of the prompt.
    """
    own = [price for price in configured if price.model == model_name]
    if own:
        return {CONFIGURATION_SOURCE: _configured(own, currency)}
    found = {entry.rule: entry_windows(entry) for entry in sellers_of(model_name)}
    return {rule: windows for rule, windows in found.items() if _is_plain(windows)}


def _is_plain(windows: Sequence[PriceWindow]) -> bool:
    """Whether both directions cost something, and by nothing but the date."""
    return bool(windows) and all(
        window.prices.input_per_mtok
        and window.prices.output_per_mtok
        and (window.day_from, window.day_until) == (0, DAY_NS)
        and window.tokens_over == NO_TOKENS
        and window.tokens_upto is None
        for window in windows
    )


def _configured(entries: Sequence[TokenPrice], currency: str) -> list[PriceWindow]:
    dated = sorted(entries, key=_since)
    return [
        PriceWindow(
            since=_since(entry),
            until=None if following is None else _since(following),
            prices=UnitPrices(
                input_per_mtok=entry.input_per_mtok,
                output_per_mtok=entry.output_per_mtok,
                cache_read_per_mtok=entry.cache_read_per_mtok,
                cache_write_per_mtok=entry.cache_write_per_mtok,
            ),
            currency=entry.currency or currency,
            source=CONFIGURATION_SOURCE,
            rule=f"{entry.model}: exact name",
        )
        for entry, following in itertools.zip_longest(dated, dated[1:])
    ]


def _since(entry: TokenPrice) -> int:
    return max(instant_ns(entry.effective_from) or 0, 0)


def _window_row(model_no: int, window: PriceWindow) -> dict[str, Any]:
    """`window` as a row, with prices by the token and each bucket's own price filled in."""
    prices = window.prices
    per_mtok = {
        "input_price": prices.input_per_mtok,
        "output_price": prices.output_per_mtok,
        "cache_read_price": _first(prices.cache_read_per_mtok, prices.input_per_mtok),
        "cache_write_price": _first(prices.cache_write_per_mtok, prices.input_per_mtok),
        "reasoning_price": _first(prices.reasoning_per_mtok, prices.output_per_mtok),
    }
    return {
        "model_no": model_no,
        "since": window.since,
        "until": window.until,
        "day_from": window.day_from,
        "day_until": window.day_until,
        "tokens_over": window.tokens_over,
        "tokens_upto": window.tokens_upto,
        **{name: _per_token(price) for name, price in per_mtok.items()},
        "request_price": _exact(prices.per_request or Decimal(0)),
        "currency": window.currency,
        "price_source": window.source,
        "price_rule": window.rule,
    }


def _first(price: Decimal | None, otherwise: Decimal | None) -> Decimal | None:
    return otherwise if price is None else price


def _per_token(per_mtok: Decimal | None) -> Decimal | None:
    return None if per_mtok is None else _exact(per_mtok * Decimal("0.000001"))


def _exact(price: Decimal) -> Decimal:
    return price.quantize(PRICE_STEP)


def _register(
    connection: Connection, name: str, rows: list[dict[str, Any]], columns: dict[str, pa.DataType]
) -> None:
    connection.register(name, pa.Table.from_pylist(rows, schema=pa.schema(columns)))
