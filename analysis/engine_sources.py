"""By which way the metrics of an engine came, where several brought the same ones.

Owns that an engine is counted once: of several ways that bring one metric of one engine, that with
the most samples is read, and another only before its first and after its last. Refuses to guess
that two engines are one: they share an instance or a pod.

The series of one way have the same names of labels; those of OTLP have the resource's among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

OTLP, PROMETHEUS = "OTLP", "Prometheus text"
RESOURCE = "resource."
REPLICA_LABELS = (
    "instance",
    "pod",
    "pod_name",
    "kubernetes_pod_name",
    "exported_instance",
    "resource.k8s.pod.name",
    "resource.service.instance.id",
)
"""Labels that may hold what calls name as their replica."""

Row = Mapping[str, Any]
Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What is read of one engine: the series of each metric, and of some when they are not.

    `silent` is the stretch of time, nanoseconds since 1970, in which another way is read instead.
    `ways` are those that brought any; `note` says which was read, None where each metric has one.
    """

    series: Mapping[str, tuple[int, ...]]
    silent: Mapping[int, Stretch]
    ways: frozenset[str]
    note: str | None


def labels_of(row: Row) -> Mapping[str, str]:
    """The labels of a series."""
    found: Mapping[str, str] = orjson.loads(str(row["labels"]))
    return found


def marks_of(rows: Sequence[Row]) -> set[str]:
    """The names that the series of one engine go by: instances and pods."""
    labels = [labels_of(row) for row in rows]
    marks = {one[label] for one in labels for label in REPLICA_LABELS if one.get(label)}
    return marks | {str(row["instance"]) for row in rows if row["instance"]}


def engines_of(series: pl.DataFrame) -> list[list[Row]]:
    """The rows of `series` by engine, also where two ways name it differently."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in series.iter_rows(named=True):
        key = tuple(row[name] for name in ("engine", "model", "instance", "pool_reported"))
        found.setdefault((*key, _way_name(_way(row))), []).append(row)
    scraped = [rows for key, rows in found.items() if key[-1] == PROMETHEUS]
    sent = [rows for key, rows in found.items() if key[-1] == OTLP]
    same = {
        here: [there for there, other in enumerate(sent) if _may_be_one(rows, other)]
        for here, rows in enumerate(scraped)
    }
    pairs = {
        found[0]: here
        for here, found in same.items()
        if len(found) == 1 and sum(found[0] in others for others in same.values()) == 1
    }
    for there, here in pairs.items():
        scraped[here] = [*scraped[here], *sent[there]]
    return [*scraped, *(rows for there, rows in enumerate(sent) if there not in pairs)]


def read_of(rows: Sequence[Row]) -> Read:
    """What is read of the engine whose series are `rows`: of several names the lowest rank."""
    series: dict[str, tuple[int, ...]] = {}
    silent: dict[int, Stretch] = {}
    told: set[tuple[str, str]] = set()
    for metric in dict.fromkeys(str(row["metric"]) for row in rows):
        named = [row for row in rows if row["metric"] == metric]
        lowest = min(row["name_rank"] for row in named)
        first, *others = _ways([row for row in named if row["name_rank"] == lowest])
        kept = [row["series_id"] for row in first]
        for way in others:
            stretch = _stretch([row for row in named if row["series_id"] in kept])
            told.add((_way_text(first), _way_text(way)))
            outside = [row for row in way if not _is_inside(row, stretch)]
            silent |= {row["series_id"]: stretch for row in outside}
            kept += [row["series_id"] for row in outside]
        series[metric] = tuple(kept)
    ways = frozenset(_way_name(_way(row)) for row in rows)
    return Read(series=series, silent=silent, ways=ways, note=_note(rows, told))


def _may_be_one(scraped: Sequence[Row], sent: Sequence[Row]) -> bool:
    """Whether both are series of one engine: a name in common, and nothing that denies it."""
    one, other = scraped[0], sent[0]
    return (
        one["engine"] == other["engine"]
        and all(_agree(one[name], other[name]) for name in ("model", "pool_reported"))
        and not marks_of(scraped).isdisjoint(marks_of(sent))
    )


def _agree(one: object, other: object) -> bool:
    return one is None or other is None or one == other


def _way(row: Row) -> tuple[str, ...]:
    return tuple(sorted(labels_of(row)))


def _way_name(way: Sequence[str]) -> str:
    return OTLP if any(name.startswith(RESOURCE) for name in way) else PROMETHEUS


def _ways(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows by way, that with the most samples first; of two alike that of the scrape."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(_way(row), []).append(row)
    return [
        found[way]
        for way in sorted(
            found,
            key=lambda way: (-_most(found[way]), _way_name(way) == OTLP, way),
        )
    ]


def _most(rows: Sequence[Row]) -> int:
    """The samples of the series with the most: more series do not make a way more complete."""
    return max(int(row["sample_count"]) for row in rows)


def _stretch(rows: Sequence[Row]) -> Stretch:
    return min(row["first_at"] for row in rows), max(row["last_at"] for row in rows)


def _is_inside(row: Row, stretch: Stretch) -> bool:
    return bool(stretch[0] <= row["first_at"] and row["last_at"] <= stretch[1])


def _way_text(rows: Sequence[Row]) -> str:
    way = _way(rows[0])
    own = [name for name in way if not name.startswith(RESOURCE)]
    return f"{_way_name(way)} with labels {', '.join(own) or 'none'}"


def _note(rows: Sequence[Row], told: set[tuple[str, str]]) -> str | None:
    """Which way was read and which was not, for one engine."""
    if not told:
        return None
    name = next((row["instance"] for row in rows if row["instance"]), rows[0]["engine"])
    parts = [f"{taken}, and not {left} at the same time" for taken, left in sorted(told)]
    return f"{name} comes by several ways and is counted once: read is {'; '.join(parts)}"
