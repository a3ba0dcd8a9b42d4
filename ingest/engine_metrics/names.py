"""Which metric says what: `names.toml` as a lookup from an exposed name.

Owns the words in which the ledger speaks of an engine's metrics. Refuses a table that names a
quantity it does not know, or one name twice.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

import msgspec

from ingest.errors import LedgerError

MetricKind = Literal["gauge", "counter", "delta"]
"""A value that is now, one that grows since the process began, or a growth by itself."""

GaugeName = Literal[
    "running_calls",
    "waiting_calls",
    "kv_use_ratio",
    "kv_blocks",
    "kv_cache_tokens",
    "max_model_len",
]
CounterName = Literal[
    "prompt_tokens",
    "computed_prompt_tokens",
    "cached_prompt_tokens",
    "prefix_query_tokens",
    "prefix_hit_tokens",
    "output_tokens",
    "preemptions",
    "preempted_input_tokens",
    "preempted_output_tokens",
    "finished_calls",
    "busy_s",
    "idle_s",
    "prefill_s",
    "decode_s",
]
HistogramName = Literal["queue_s", "prefill_s", "decode_s", "residence_s", "ttft_s", "e2e_s"]

TOTAL = "_total"
SUM, COUNT = "_sum", "_count"
PROCESS_START = "process_start_time_seconds"
"""When the process began, for every metric of the same scrape."""


class NamesError(LedgerError):
    """The table of names that ships with the product contradicts itself."""


class EngineNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one engine exposes what it counts; `only` keeps one of several series that say alike."""

    prefixes: tuple[str, ...]
    model_labels: tuple[str, ...]
    gauges: dict[GaugeName, tuple[str, ...]]
    counters: dict[CounterName, tuple[str, ...]]
    histograms: dict[HistogramName, tuple[str, ...]] = {}
    only: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What an exposed name stands for; of several names of a metric that of lowest rank is read."""

    engine: str
    name: str
    metric: str
    kind: MetricKind
    rank: int


@cache
def engine_names() -> Mapping[str, EngineNames]:
    """The table by engine. Raises `NamesError` where the file that ships is wrong."""
    text = resources.files("ingest.engine_metrics").joinpath("names.toml").read_text("utf-8")
    return names_of(text)


def names_of(text: str) -> Mapping[str, EngineNames]:
    """The table that `text` writes. Raises `NamesError` where it contradicts itself."""
    try:
        table = msgspec.convert(tomllib.loads(text), dict[str, EngineNames])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise NamesError(f"names.toml: {error}") from error
    for engine, names in table.items():
        exposed = [name for name, _ in _exposed(engine, names)]
        twice = sorted({name for name in exposed if exposed.count(name) > 1})
        if twice:
            raise NamesError(f"names.toml: {engine} has {', '.join(twice)} twice; keep one")
    return table


@lru_cache(maxsize=4096)
def known(name: str) -> Named | None:
    """What the exposed `name` stands for, with or without `_total`; None for any other metric."""
    for engine, names in engine_names().items():
        for prefix in names.prefixes:
            if name.startswith(prefix):
                return _looked_up(engine, name.removeprefix(prefix))
    return None


def model_of(engine: str, labels: Mapping[str, str]) -> str | None:
    """The model that the labels of a series of `engine` name."""
    names = engine_names()[engine].model_labels
    return next((labels[label] for label in names if labels.get(label)), None)


def is_counted_twice(engine: str, labels: Mapping[str, str]) -> bool:
    """Whether another series of `engine` says the same and is the one that is read."""
    only = engine_names()[engine].only
    return any(labels.get(label, value) != value for label, value in only.items())


def _looked_up(engine: str, short: str) -> Named | None:
    table = _lookup(engine)
    found = table.get(short.removesuffix(TOTAL))
    return table.get(short) if found is None or found.kind == "gauge" else found


@cache
def _lookup(engine: str) -> Mapping[str, Named]:
    return dict(_exposed(engine, engine_names()[engine]))


def _exposed(engine: str, names: EngineNames) -> Iterator[tuple[str, Named]]:
    for metric, listed in names.gauges.items():
        yield from _ranked(engine, metric, "gauge", listed)
    for counter, listed in names.counters.items():
        yield from _ranked(engine, counter, "counter", listed)
    for histogram, listed in names.histograms.items():
        counts = [name + COUNT for name in listed]
        yield from _ranked(engine, histogram, "counter", [name + SUM for name in listed])
        yield from _ranked(engine, f"{histogram}_count", "counter", counts)


def _ranked(
    engine: str, metric: str, kind: MetricKind, listed: Sequence[str]
) -> Iterator[tuple[str, Named]]:
    for rank, name in enumerate(listed):
        yield name, Named(engine=engine, name=name, metric=metric, kind=kind, rank=rank)
