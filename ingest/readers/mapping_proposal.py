"""A mapping that is proposed for rows from the names of their columns.

Owns the guess of a number's unit from its name and size; the names themselves are data. Refuses to
apply a proposal: a person reads it first.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ingest.readers.clock import number_of, unit_of

_MOVING = ("updated_at", "modified_at", "last_modified", "updated")
_UNIT_OF_NAME = re.compile(r"(?:^|_)(ms|us|ns|s|millis|seconds)$")
_UNITS = {"millis": "ms", "seconds": "s"}


def matches(columns: Iterable[str]) -> dict[str, str]:
    """Column of a call to the one of `columns` that is called like it; each is used once."""
    folded = {_folded(name): name for name in columns}
    found: dict[str, str] = {}
    for column, names in _names().items():
        for name in names:
            match = folded.get(_folded(name))
            if match is not None and match not in found.values():
                found[column] = match
                break
    return found


def proposed_mapping(
    samples: Mapping[str, Sequence[Any]],
    *,
    name: str | None = None,
    primary_key: Sequence[str] = (),
) -> str:
    """A mapping file for rows with the columns of `samples`, which hold some values of each.

    `name` is that of a database's table; what could not be told stands there as comments.
    """
    matched = matches(samples)
    lines = [*_table_lines(samples, matched, name, primary_key), "", "[columns]"]
    lines += [_column_line(column, each, samples[each]) for column, each in matched.items()]
    unused = [each for each in samples if each not in matched.values()]
    if unused:
        lines += ["", f"# not mapped: {', '.join(map(_quoted, unused))}"]
    return "\n".join(lines) + "\n"


def _table_lines(
    columns: Iterable[str], matched: Mapping[str, str], name: str | None, primary_key: Sequence[str]
) -> Iterator[str]:
    yield "[table]"
    if name is not None:
        yield f"name = {_quoted(name)}"
    lacks = "" if primary_key else "   # columns that tell one call from every other"
    yield f"identity = [{', '.join(map(_quoted, primary_key))}]{lacks}"
    if name is not None:
        yield from _watermark_lines(columns, matched)
    yield 'timezone = "UTC"   # of times that tell no zone'


def _watermark_lines(columns: Iterable[str], matched: Mapping[str, str]) -> Iterator[str]:
    watermark = matched.get("arrived_at") or matched.get("ended_at")
    if watermark is None:
        yield '# watermark = "…"   # a column by which new rows are found; else all are read'
    else:
        yield f"watermark = {_quoted(watermark)}"
    given = set(columns)
    changed = next((each for each in _MOVING if each in given), None)
    if changed is not None:
        yield f"changed = {_quoted(changed)}"
    yield 'lag = "1 h"   # how late a row may appear'


def _column_line(column: str, name: str, values: Sequence[Any]) -> str:
    unit = _unit(column, name, values)
    if unit is not None:
        return f'{column} = {{ column = {_quoted(name)}, unit = "{unit}" }}'
    return f"{column} = {_quoted(name)}"


def _unit(column: str, name: str, values: Sequence[Any]) -> str | None:
    """The unit of a time that is a number; None for a column that needs none."""
    is_duration = column.endswith("_s")
    if not (is_duration or column.endswith("_at")):
        return None
    numbers = [abs(number) for value in values if (number := number_of(value)) is not None]
    if values and not numbers:
        return None
    named = _UNIT_OF_NAME.search(name.lower())
    if named is not None:
        return _UNITS.get(named[1], named[1])
    if is_duration or not numbers:
        return "s" if is_duration else None
    return unit_of(max(numbers)) or "s"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _folded(name: str) -> str:
    return re.sub(r"[_\- ]", "", name.lower())


@cache
def _names() -> dict[str, list[str]]:
    text = files("ingest.readers").joinpath("mapping_names.toml").read_text("utf-8")
    return tomllib.loads(text)
