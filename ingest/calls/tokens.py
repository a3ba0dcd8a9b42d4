"""Five exclusive token buckets from the counts that a source reports.

Owns how reported counts are told apart: cache counts inside or outside of input, reasoning inside
or outside of output. Refuses to guess by vendor, to go below zero, and to read "absent" as 0.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, NamedTuple

from ingest.records import Call

_DIGITS = re.compile(r"([+-]?[0-9]{1,20})(\.0*)?")
EXCEEDS = "cached tokens exceed the prompt of"
"""What the note of a call says whose engine claims more cached tokens than it had to read."""
MAX_TOKENS = 10**9
"""No context is that long, and three buckets of a billion such calls still add up in 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Token counts of one call: each token is in one bucket; None means not known.

    The fields are columns of `calls`; `tokens_note` says what had to be assumed.
    """

    uncached_input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    visible_output_tokens: int | None = None
    reasoning_tokens: int | None = None
    reported_input_tokens: int | None = None
    reported_output_tokens: int | None = None
    reported_total_tokens: int | None = None
    tokens_source: str = "unknown"
    tokens_note: str | None = None

    @classmethod
    def of(cls, call: Call) -> "Buckets":
        """What `call` tells of its tokens."""
        return cls(**{field.name: getattr(call, field.name) for field in fields(cls)})

    @property
    def input_tokens(self) -> int | None:
        """Tokens of the whole prompt, cached or not."""
        if self.uncached_input_tokens is None:
            return None
        return (
            self.uncached_input_tokens
            + (self.cache_read_tokens or 0)
            + (self.cache_write_tokens or 0)
        )

    @property
    def output_tokens(self) -> int | None:
        """Tokens generated, seen or not."""
        if self.visible_output_tokens is None:
            return None
        return self.visible_output_tokens + (self.reasoning_tokens or 0)

    def columns(self) -> dict[str, Any]:
        """Column name to value, as `Call(**...)` takes them."""
        return {name: getattr(self, name) for name in self.__slots__}


class _Reported(NamedTuple):
    """The counts of one source after tolerant reading."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    total: int | None

    @property
    def cached(self) -> int:
        return (self.cache_read or 0) + (self.cache_write or 0)


class _Reading(NamedTuple):
    """One way to understand the counts; `total` is what it makes of input and output."""

    is_cache_outside: bool
    is_reasoning_outside: bool
    input: int
    output: int

    @property
    def total(self) -> int:
        return self.input + self.output


def token_count(value: object) -> int | None:
    """Tokens as a whole number from 0; None for what is no count.

    Integers sent as strings or doubles are read; NaN, fractions, negatives, booleans, digits in
    groups and what exceeds `MAX_TOKENS` are not.
    """
    if type(value) is int:
        return value if 0 <= value <= MAX_TOKENS else None
    if isinstance(value, str):
        digits = _DIGITS.fullmatch(value.strip())
        if digits is None:
            return None
        value = int(digits[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
        return None
    return int(value) if 0 <= value <= MAX_TOKENS else None


def buckets(
    *,
    input_tokens: object = None,
    output_tokens: object = None,
    cache_read_tokens: object = None,
    cache_write_tokens: object = None,
    reasoning_tokens: object = None,
    total_tokens: object = None,
    streamed_chunks: object = None,
    is_cache_inside: bool | None = None,
) -> Buckets:
    """The five exclusive buckets, in tokens, from counts as reported.

    Cache counts are parts of input unless arithmetic denies it: they exceed input, or only the sum
    with them gives the total. Where the source is known to count them in its input, as engines do
    (`is_cache_inside`), those that exceed it are not believed. Reasoning is a part of output unless
    the total, or its own size, shows that it was left out. `streamed_chunks` stands in for output
    that nobody reported: at least one token a chunk.
    """
    named = {
        "input": input_tokens,
        "output": output_tokens,
        "cache_read": cache_read_tokens,
        "cache_write": cache_write_tokens,
        "reasoning": reasoning_tokens,
        "total": total_tokens,
    }
    counted = {name: token_count(value) for name, value in named.items()}
    notes = [
        f"{name} {value!r} is no count"
        for name, value in named.items()
        if value is not None and counted[name] is None
    ]
    reported = _Reported(**counted)
    if is_cache_inside and reported.input is not None and reported.cached > reported.input:
        notes.append(f"{reported.cached} {EXCEEDS} {reported.input}")
        reported = reported._replace(cache_read=None, cache_write=None)
    reading, assumed = _most_plausible(reported, is_cache_inside=is_cache_inside)
    result = _exclusive(reported, reading, "; ".join(notes + assumed) or None)
    return _with_chunks(result, token_count(streamed_chunks))


def _most_plausible(
    reported: _Reported, *, is_cache_inside: bool | None
) -> tuple[_Reading, list[str]]:
    """The reading that the counts allow and the total confirms, with what it had to assume."""
    possible = list(_possible_readings(reported, is_cache_inside=is_cache_inside))
    first = possible[0]
    if reported.total is None or reported.input is None or reported.output is None:
        return first, _assumptions(reported, first)
    confirmed = [reading for reading in possible if reading.total == reported.total]
    if confirmed:
        ambiguous = ["total fits several readings of cache and reasoning, the first is assumed"]
        return confirmed[0], ambiguous if len(confirmed) > 1 else []
    if first.is_cache_outside:
        return _without_cache_in_total(reported, possible)
    return first, [f"total {reported.total} is not input {first.input} + output {first.output}"]


def _possible_readings(reported: _Reported, *, is_cache_inside: bool | None) -> Iterator[_Reading]:
    """Every reading in which no part exceeds its whole, the usual one first.

    Reasoning above output is taken as a part all the same where the total leaves no room for it.
    """
    known_input, known_output = reported.input or 0, reported.output or 0
    reasoning = reported.reasoning or 0 if reported.output is not None else 0
    leaves_no_room = reported.total == known_input + known_output
    cache_choices = [False] if is_cache_inside else _where(reported.cached, known_input)
    reasoning_choices = _where(reasoning, known_output)
    if reasoning_choices == [True] and leaves_no_room:
        reasoning_choices = [False]
    for is_reasoning_outside, is_cache_outside in product(reasoning_choices, cache_choices):
        yield _Reading(
            is_cache_outside=is_cache_outside,
            is_reasoning_outside=is_reasoning_outside,
            input=known_input + (reported.cached if is_cache_outside else 0),
            output=known_output + (reasoning if is_reasoning_outside else 0),
        )


def _where(part: int, whole: int) -> list[bool]:
    """Whether `part` may lie outside of `whole`: no, perhaps, surely."""
    if part == 0:
        return [False]
    return [True] if part > whole else [False, True]


def _without_cache_in_total(
    reported: _Reported, possible: list[_Reading]
) -> tuple[_Reading, list[str]]:
    """The reading for a source whose total leaves cached tokens out as its input does."""
    for reading in possible:
        if reading.is_cache_outside and reading.total - reported.cached == reported.total:
            return reading, ["total leaves cached tokens out"]
    first = possible[0]
    return first, [f"total {reported.total} is not input {first.input} + output {first.output}"]


def _assumptions(reported: _Reported, reading: _Reading) -> list[str]:
    """What is assumed where no total decides."""
    if not reported.reasoning or reported.output is None:
        return []
    if reading.is_reasoning_outside:
        return ["reasoning exceeds output, assumed to come on top"]
    return ["reasoning assumed to be part of output"]


def _exclusive(reported: _Reported, reading: _Reading, note: str | None) -> Buckets:
    uncached = reported.input
    if uncached is not None and not reading.is_cache_outside:
        uncached -= reported.cached
    visible, reasoning = reported.output, reported.reasoning
    if visible is not None and reasoning is not None and not reading.is_reasoning_outside:
        reasoning = min(reasoning, visible)
        visible -= reasoning
    is_known = reported.input is not None or reported.output is not None
    return Buckets(
        uncached_input_tokens=uncached,
        cache_read_tokens=reported.cache_read,
        cache_write_tokens=reported.cache_write,
        visible_output_tokens=visible,
        reasoning_tokens=reasoning,
        reported_input_tokens=reported.input,
        reported_output_tokens=reported.output,
        reported_total_tokens=reported.total,
        tokens_source="reported" if is_known else "unknown",
        tokens_note=note,
    )


def _with_chunks(result: Buckets, chunks: int | None) -> Buckets:
    """The buckets with output estimated from streamed chunks where no output was reported."""
    if not chunks or result.visible_output_tokens is not None:
        return result
    note = f"at least {chunks} output tokens: one for each streamed chunk"
    return replace(
        result,
        visible_output_tokens=max(chunks - (result.reasoning_tokens or 0), 0),
        tokens_source="estimated",
        tokens_note=note if result.tokens_note is None else f"{result.tokens_note}; {note}",
    )
