"""Samples from Prometheus and OpenMetrics text.

Owns the instants of a text that may hold many scrapes, and which of its lines are samples of an
engine. Refuses to date a sample that nothing dates.

The formats leave comments to their writer. This one dates the lines below it and says whose they
are, as far as labels do not; it holds until the next:

    # scraped_at 2026-11-29T10:00:00Z instance=10.0.0.7:8000 model=llama-3.1-8b pool=chat
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from prometheus_client.parser import text_string_to_metric_families

from ingest.engine_metrics.names import (
    PROCESS_START,
    Named,
    is_counted_twice,
    known,
    model_of,
)
from ingest.readers.instants import NS_PER_MS, NS_PER_S, held, instant_of_text
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.samples import Ignored, Measured
from ingest.records import Sample

MARK = "# scraped_at "
MARK_KEYS = {"instance": "instance", "model": "model", "pool": "pool_reported"}
LEAST_MILLISECONDS = 10**11
"""A timestamp below is in seconds, as OpenMetrics writes it: in milliseconds it would be 1973."""

_BRACES = r'\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}'
_LINE = re.compile(
    rf"(?P<series>[a-zA-Z_:][\w:.]*\s*(?:{_BRACES})?|{_BRACES})"
    r"\s*(?<=[\s}])(?P<value>[^\s#]+)(?:\s+(?P<at>[^\s#]+))?(?:\s+#.*)?"
)
_PAIR = re.compile(r"(\w+)=(\S+)")


class UndatedError(RecordError):
    """A sample without a timestamp in a text that does not say when it was scraped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """What is known of the lines of one scrape besides what they say: when, and whose."""

    at: int | None = None
    instance: str | None = None
    model: str | None = None
    pool_reported: str | None = None


IGNORED = Ignored()


@dataclass(slots=True)
class _Block:
    """The undated lines of one scrape, which wait for the instant at which the process began."""

    scrape: Scrape
    samples: list[Sample] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    began_at: int | None = None
    is_misdated: bool = False

    def ended(self) -> Iterator[Sample]:
        """The samples of the scrape, counters with the beginning of their process."""
        for sample in self.samples:
            is_counter = sample.kind == "counter" and self.began_at is not None
            yield replace(sample, began_at=self.began_at) if is_counter else sample


def lines_to_samples(lines: Iterable[tuple[int, str]], scrape: Scrape) -> Iterator[Measured]:
    """What each numbered line of a text is; `scrape` holds until the text says otherwise.

    Raises `UndatedError` for a sample that has no timestamp where none was given either.
    """
    block = _Block(scrape)
    for number, line in lines:
        try:
            if line.startswith(MARK):
                yield from block.ended()
                block = _Block(scrape, is_misdated=True)
                block = _Block(_marked(line.removeprefix(MARK), scrape))
            elif not line.startswith("#"):
                found = _sample(line, block)
                if found is not None:
                    yield found
        except UndatedError:
            raise
        except ValueError as error:
            yield rejected(f"line {number}", error, line)
    yield from block.ended()


def _marked(text: str, scrape: Scrape) -> Scrape:
    instant, _, rest = text.strip().partition(" ")
    pairs = dict(_PAIR.findall(rest))
    unknown = sorted(pairs.keys() - MARK_KEYS.keys())
    if unknown:
        raise RecordError(f"scraped_at knows {', '.join(MARK_KEYS)}, not {', '.join(unknown)}")
    told = {MARK_KEYS[key]: value for key, value in pairs.items()}
    return replace(scrape, at=instant_of_text(instant), **told)


def _sample(line: str, block: _Block) -> Measured | None:
    """What a line is that is no comment; None for one that waits for the end of its scrape."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise RecordError("no sample: a name, labels in braces, a value and perhaps a timestamp")
    series, own_at = match["series"].strip(), match["at"]
    if own_at is None and series == PROCESS_START:
        block.began_at = _instant(match["value"])
        return None
    identity = _identity(series)
    if identity is None:
        return IGNORED
    if block.is_misdated and own_at is None:
        raise RecordError("the line above that dates its scrape cannot be read")
    sample = _made(identity, block.scrape, _value(match["value"]))
    if own_at is not None:
        return replace(sample, at=_instant(own_at))
    if block.scrape.at is None:
        raise UndatedError("a sample without a timestamp")
    if series in block.seen:
        raise RecordError(
            f"{series[:80]} stands twice in one scrape; write a line '{MARK}TIME' above each scrape"
        )
    block.seen.add(series)
    block.samples.append(sample)
    return None


@lru_cache(maxsize=16_384)
def _identity(series: str) -> tuple[Named, Mapping[str, str]] | None:
    """What a series stands for and its labels; None where no question reads it."""
    name = series.partition("{")[0].strip()
    if name and known(name) is None:
        return None
    try:
        family = next(iter(text_string_to_metric_families(f"{series} 0\n")))
    except ValueError as error:
        raise RecordError(f"its labels cannot be read: {error}") from error
    read = family.samples[0]
    named = known(read.name)
    if named is None or is_counted_twice(named.engine, read.labels):
        return None
    return replace(named, name=read.name), dict(sorted(read.labels.items()))


def _made(identity: tuple[Named, Mapping[str, str]], scrape: Scrape, value: float | None) -> Sample:
    named, labels = identity
    return Sample(
        engine=named.engine,
        metric=named.metric,
        kind=named.kind,
        name=named.name,
        rank=named.rank,
        model=model_of(named.engine, labels) or scrape.model,
        instance=labels.get("instance") or scrape.instance,
        pool_reported=labels.get("pool") or scrape.pool_reported,
        labels=labels,
        at=scrape.at or 0,
        value=value,
    )


def _value(text: str) -> float | None:
    """The number; None for NaN and the infinities, which say that there is none."""
    if "_" in text:
        raise RecordError(f"{text[:40]!r} is no number")
    try:
        value = float(text)
    except ValueError:
        raise RecordError(f"{text[:40]!r} is no number") from None
    return value if math.isfinite(value) else None


def _instant(text: str) -> int:
    """Nanoseconds of a timestamp: milliseconds in Prometheus text, seconds in OpenMetrics."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number.adjusted() > 20:
        raise RecordError(f"{text[:40]!r} is no timestamp")
    unit = NS_PER_S if abs(number) < LEAST_MILLISECONDS else NS_PER_MS
    return held(int(number * unit))
