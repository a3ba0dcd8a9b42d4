"""What is said beside the figures of engines.

Owns the sentences. Refuses to judge: `engine_checks` does.
"""

from collections.abc import Iterator

import polars as pl

from analysis.engine_sources import OTLP
from analysis.engine_units import Units
from analysis.wording import counted

NAMES = ("pool", "replica", "engine", "model")
MOSTLY = 0.5
"""Share of calls from which on one answer is taken for a habit of the engine."""


def engine_notes(frame: pl.DataFrame, units: Units) -> tuple[str, ...]:
    """What a reader of `frame` must know, one sentence each."""
    return (
        *_without_calls(frame),
        *_resets(frame),
        *_refused(frame),
        *_decoding(frame),
        *_ways(units),
    )


def _without_calls(frame: pl.DataFrame) -> Iterator[str]:
    unplaced = frame.filter(pl.col("B_calls").is_null() & pl.col("call_input_tokens").is_null())
    if not unplaced.is_empty():
        engines = unplaced.select(NAMES).unique().height
        yield (
            f"no calls to hold against {counted(engines, 'engine')}: the ledger has none of its "
            "pool, nor of its model; a label or mark pool=NAME tells the pool"
        )


def _resets(frame: pl.DataFrame) -> Iterator[str]:
    resets = int(frame["resets"].sum() or 0)
    if resets:
        yield f"counters began again {resets:,} times; what they grew by is added up"


def _refused(frame: pl.DataFrame) -> Iterator[str]:
    """Engines whose counters claim more hits than there was to look up."""
    for row in frame.filter(pl.col("cached_prompt_tokens") > pl.col("prompt_tokens")).to_dicts():
        yield (
            f"{_name(row)}: {row['cached_prompt_tokens']:,.0f} prompt tokens from the cache of "
            f"{row['prompt_tokens']:,.0f} in all are not believed, so prefix_hit_ratio is not shown"
        )
    for row in frame.filter(
        (pl.col("preemptions") > 0) & pl.col("query_hit_ratio").is_not_null()
    ).to_dicts():
        yield (
            f"{_name(row)}: {row['preemptions']:,.0f} preemptions; each looks its prompt up again, "
            "so query_hit_ratio counts it again, and prefix_hit_ratio does not"
        )


def _decoding(frame: pl.DataFrame) -> Iterator[str]:
    """Engines most of whose calls say that all of the prompt was cached but the last token."""
    count, told = pl.col("call_all_but_one_count"), pl.col("call_told_count")
    for row in frame.filter(count > told * MOSTLY).to_dicts():
        yield (
            f"{_name(row)}: {row['call_all_but_one_count']:,} of "
            f"{counted(row['call_told_count'], 'call')} that tell their cached tokens tell all of "
            "the prompt but one: an engine that decodes what another one has prefilled says so, "
            "and these are no hits of a prefix cache"
        )


def _ways(units: Units) -> Iterator[str]:
    yield from (place.read.note for place in units.places if place.read.note)
    for unit in units.units:
        ways = [units.places[number].read.ways for number in unit.places]
        sent = sum(found == {OTLP} for found in ways)
        if 0 < sent < len(ways):
            name = unit.pool or unit.model or unit.engine
            yield (
                f"{name}: {counted(sent, 'engine')} by {OTLP} and {len(ways) - sent:,} by other "
                "ways share no instance and no pod, so all are added up; where they are the same, "
                "give them one name or take one way"
            )


def _name(row: dict[str, object]) -> str:
    place = row["pool"] or row["model"] or row["engine"]
    return str(place) if row["replica"] is None else f"{place} {row['replica']}"
