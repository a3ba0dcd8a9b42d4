"""`gpuledger.toml` as frozen values: pools, prices, mapping, budgets, SLOs.

Owns what the configuration means. Refuses unknown keys (naming the nearest known one), values of
the wrong kind, and pools or prices that contradict themselves.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ingest.config_file import read_toml
from ingest.config_plans import PLAN_COLUMNS, Plan, refuse_wrong_plans
from ingest.config_retention import refuse_unknown_ages
from ingest.config_scope import refuse_same_endpoints, refuse_same_scopes, refuse_unknown_scopes
from ingest.config_values import (
    refuse_large_replicas,
    refuse_unknown_zone,
    refuse_wrong_values,
    shown,
    struct_inside,
)
from ingest.errors import ConfigurationError

Money = Decimal
"""An amount of money; negative ones are refused with the contradictions."""

EngineSize = Annotated[int, msgspec.Meta(ge=1, le=2**40)]
"""Tokens that an engine has room for."""

MOST_REPLICAS = 10**6
"""Replicas of one pool: more engines than anybody runs, and what a year of them costs adds up."""


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """One pool from one instant on; a later entry of the same name supersedes it.

    `models` None leaves the pool the models that it has. `schedule` is "always" or windows such as
    "mon-fri 08:00-20:00" in the configured time zone. `kv_cache_tokens` and `max_model_len`
    are of the engine of one replica, as it says them when it starts.
    """

    name: str
    models: tuple[str, ...] | None = None
    gpu: str | None = None
    gpus_per_replica: Annotated[float, msgspec.Meta(gt=0)] = 1
    replicas: Annotated[int, msgspec.Meta(ge=0, le=MOST_REPLICAS)] = 1
    price_per_gpu_hour: Money | None = None
    effective_from: datetime | None = msgspec.field(name="from", default=None)
    schedule: Literal["always"] | tuple[str, ...] = "always"
    kv_cache_tokens: EngineSize | None = None
    max_model_len: EngineSize | None = None


class TokenPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of a model that is rented by the token, per million tokens, from one instant on."""

    model: str
    provider: str | None = None
    input_per_mtok: Money
    output_per_mtok: Money
    cache_read_per_mtok: Money | None = None
    cache_write_per_mtok: Money | None = None
    currency: str | None = None
    effective_from: datetime | None = msgspec.field(name="from", default=None)


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Money that the calls matching `scope` may cost in `month` (YYYY-MM); of no scope, all."""

    scope: dict[str, str]
    month: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]
    amount: Money


class Slo(msgspec.Struct, frozen=True, kw_only=True):
    """What an endpoint promises: 95th percentiles in seconds."""

    endpoint: str
    ttft_p95_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tpot_p95_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    e2e_p95_s: Annotated[float, msgspec.Meta(gt=0)] | None = None


class ExchangeRate(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of `source` is worth `rate` units of `target` from `effective_from` on."""

    source: str
    target: str
    rate: Decimal
    effective_from: datetime = msgspec.field(name="from")


class MaskPattern(msgspec.Struct, frozen=True, kw_only=True):
    """A mask of one's own: what `pattern`, in the syntax of RE2, finds is stored as `name`."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    pattern: Annotated[str, msgspec.Meta(min_length=1)]


MaskName = Literal["secret", "card", "iban", "email", "phone", "ip"]
DEFAULT_MASKS: tuple[MaskName, ...] = ("secret", "card", "iban", "email", "phone")
"""All but addresses of machines, by which replicas are told apart."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the configuration file can say; an empty file is this with its defaults."""

    currency: str = "USD"
    timezone: str = "UTC"
    content: Literal["full", "hash", "off"] = "hash"
    hash_key: str | None = None
    mask: tuple[MaskName, ...] = DEFAULT_MASKS
    mask_patterns: tuple[MaskPattern, ...] = ()
    user_ids: Literal["full", "hash", "off"] = "full"
    retention: dict[str, str] = {}
    count_sections: bool = True
    prefix_block_tokens: Annotated[int, msgspec.Meta(ge=0, le=2**16)] = 16
    measure_answers: bool = True
    memory_limit: str = "4GB"
    pools: tuple[Pool, ...] = ()
    token_prices: tuple[TokenPrice, ...] = ()
    plans: tuple[Plan, ...] = ()
    map: dict[str, tuple[str, ...]] = {}
    budgets: tuple[Budget, ...] = ()
    slos: tuple[Slo, ...] = ()
    exchange_rates: tuple[ExchangeRate, ...] = ()


AMOUNT_DIGITS = 18
"""Digits of an amount as the ledger keeps it; so many of them stand behind the point:"""
PRICE_PLACES = 9
BUDGET_PLACES = 2

MAPPABLE_COLUMNS = (
    "endpoint",
    "feature",
    "team",
    "tenant",
    "user_id",
    "service",
    "environment",
    "region",
    "pool",
    "replica",
    "adapter",
    "model",
    "provider",
    "conversation_id",
)
"""Columns of a call that `[map]` may fill; the values are `resource.NAME` or `attribute.NAME`."""


_MEMORY = re.compile(r"(?=.*[1-9])\d+(\.\d+)? ?(([KMGT]i?)?B|%)", re.IGNORECASE)


def load_configuration(path: Path | None) -> Configuration:
    """The configuration at `path`; the defaults where `path` is None.

    Raises `ConfigurationError` with the key, the file and the nearest known name.
    """
    if path is None:
        return Configuration()
    raw = read_toml(path)
    _refuse_unknown_keys(raw, Configuration, str(path), "")
    _refuse_unmappable(raw.get("map"), path)
    refuse_unknown_ages(raw.get("retention"), str(path))
    refuse_unknown_scopes(raw.get("budgets"), "budgets", str(path))
    refuse_unknown_scopes(raw.get("plans"), "plans", str(path), PLAN_COLUMNS)
    refuse_wrong_values(raw, Configuration, str(path))
    configuration = msgspec.convert(raw, Configuration, strict=True)
    _refuse_contradictions(configuration, path)
    return configuration


def instant_ns(at: datetime | None) -> int | None:
    """Nanoseconds since 1970 of a configured instant; a naive one is taken as UTC."""
    if at is None:
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    delta = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000_000 + delta.microseconds * 1_000


def effective_from_ns(pool: Pool) -> int:
    """Nanoseconds since 1970 from which an entry holds; 0, before every call, for "since ever"."""
    return max(instant_ns(pool.effective_from) or 0, 0)


def _refuse_unknown_keys(raw: Mapping[str, Any], kind: type, path: str, where: str) -> None:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        if key not in fields:
            hint = _hint(key, list(fields), is_inside=bool(where))
            raise ConfigurationError(f"{path}: unknown key {where + key!r}; {hint}")
        element = struct_inside(fields[key])
        if element is not None and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    _refuse_unknown_keys(item, element, path, f"{key}[{index}].")


def _hint(key: str, known: Sequence[str], *, is_inside: bool) -> str:
    """What an unknown key may have been meant to be, or where it belongs."""
    if is_inside and key in Configuration.__struct_fields__:
        return f"{key!r} is a key of the whole file: put it above the first [table]"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"


def _refuse_unmappable(columns: object, path: Path) -> None:
    if not isinstance(columns, Mapping):
        return
    for column in columns:
        if column not in MAPPABLE_COLUMNS:
            hint = _hint(column, MAPPABLE_COLUMNS, is_inside=True)
            raise ConfigurationError(f"{path}: [map] cannot fill {column!r}; {hint}")


def _refuse_contradictions(configuration: Configuration, path: Path) -> None:
    refuse_unknown_zone(configuration.timezone, str(path))
    if not _MEMORY.fullmatch(configuration.memory_limit):
        raise ConfigurationError(
            f"{path}: memory_limit is {shown(configuration.memory_limit)}; "
            'it must be a size, such as "4GB" or "512MiB"'
        )
    _refuse_impossible_amounts(configuration, path)
    refuse_large_replicas(
        ((pool.gpus_per_replica, pool.price_per_gpu_hour) for pool in configuration.pools),
        str(path),
    )
    _refuse_pools_of_one_instant(configuration.pools, path)
    refuse_wrong_plans(configuration.plans, str(path), instant_ns)
    refuse_same_scopes(((one.scope, one.month) for one in configuration.budgets), str(path))
    refuse_same_endpoints((one.endpoint for one in configuration.slos), str(path))
    for column, sources in configuration.map.items():
        for source in sources:
            if not source.startswith(("resource.", "attribute.")):
                raise ConfigurationError(
                    f"{path}: [map] {column} reads {source!r}; "
                    "a source begins with 'resource.' or 'attribute.'"
                )


def _refuse_pools_of_one_instant(pools: Sequence[Pool], path: Path) -> None:
    """Raise where two entries of one date say different things of one pool, or of one model."""
    seen: set[tuple[str, int]] = set()
    listed: dict[tuple[str, int], str] = {}
    for pool in pools:
        since = effective_from_ns(pool)
        if (pool.name, since) in seen:
            raise ConfigurationError(
                f"{path}: pool {pool.name!r} has two entries from the same instant; remove one"
            )
        seen.add((pool.name, since))
        for model in pool.models or ():
            other = listed.setdefault((model, since), pool.name)
            if other != pool.name:
                begin = "since ever" if since == 0 else f"from {pool.effective_from}"
                raise ConfigurationError(
                    f"{path}: pools {other!r} and {pool.name!r} both list the model {model!r} "
                    f"{begin}; a model is in one pool at a time: list it in one of them, "
                    "or give the pool that takes it over a later 'from'. Calls of a model that "
                    "several pools serve at once have to name their pool: see [map] pool"
                )


def _refuse_impossible_amounts(configuration: Configuration, path: Path) -> None:
    for key, value in _amounts(configuration):
        if not value.is_finite() or value < 0:
            raise ConfigurationError(f"{path}: {key} is {value}; an amount is 0 or more")
        places = BUDGET_PLACES if key.startswith("budgets") else PRICE_PLACES
        if value >= 10 ** (AMOUNT_DIGITS - places) or value != round(value, places):
            raise ConfigurationError(
                f"{path}: {key} is {value}; an amount has at most {AMOUNT_DIGITS - places} digits "
                f"before the point and {places} after it"
            )
    for rate in configuration.exchange_rates:
        if rate.rate == 0:
            raise ConfigurationError(f"{path}: the rate from {rate.source} is 0; it must be more")


def _amounts(configuration: Configuration) -> Iterator[tuple[str, Decimal]]:
    """Every decimal of `configuration` with its key, such as "pools[0].price_per_gpu_hour"."""
    for table in msgspec.structs.fields(configuration):
        if struct_inside(table.type) is None:
            continue
        for number, entry in enumerate(getattr(configuration, table.name)):
            for field in msgspec.structs.fields(entry):
                value = getattr(entry, field.name)
                if isinstance(value, Decimal):
                    yield f"{table.encode_name}[{number}].{field.encode_name}", value
