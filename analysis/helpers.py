"""The helper names of the shared SQL subset, and what each becomes in a dialect.

Owns the template table. A file says `percentile(x, 0.95)`; the text that runs is one column of
this table. Arguments are numbered; a helper's name never occurs as a plain function.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

from analysis.errors import QuestionFileError

Dialect = Literal["duckdb", "spark"]

TEMPLATES: Mapping[str, Mapping[Dialect, str]] = {
    "percentile": {
        "duckdb": "quantile_cont({0}, {1})",
        "spark": "percentile({0}, {1})",
    },
    "micros": {"duckdb": "epoch_us({0})", "spark": "unix_micros({0})"},
    "minute_of": {"duckdb": "({0}) // 60000000", "spark": "({0}) div 60000000"},
    "day_of": {"duckdb": "({0}) // 86400000000", "spark": "({0}) div 86400000000"},
    "sequence": {"duckdb": "generate_series({0}, {1})", "spark": "sequence({0}, {1})"},
    "explode": {"duckdb": "unnest({0})", "spark": "explode({0})"},
    "local_month": {
        "duckdb": "cast(date_trunc('month', timezone({1}, timezone('UTC', {0}))) as date)",
        "spark": "cast(date_trunc('MONTH', from_utc_timestamp({0}, {1})) as date)",
    },
    # The quarter-hour since 1970 in which an instant in nanoseconds lies.
    "quarter_of": {
        "duckdb": "cast(({0}) // 900000000000 as integer)",
        "spark": "cast(({0}) div 900000000000 as int)",
    },
    # Two bound lists, position by position, as the columns key and value of a table.
    "pairs": {
        "duckdb": "(select unnest({0}) as key, unnest({1}) as value)",
        "spark": "(select inline(arrays_zip({0} as key, {1} as value)))",
    },
    # Whether a bound list holds a value.
    "is_among": {"duckdb": "list_contains({1}, {0})", "spark": "array_contains({1}, {0})"},
    # How many items a list has, and one of them, the first being 1.
    "size_of": {"duckdb": "len({0})", "spark": "size({0})"},
    "item_of": {"duckdb": "({0})[{1}]", "spark": "element_at({0}, cast({1} as int))"},
    # Seconds as whole picoseconds, and a whole number that has room for a product of two.
    "picoseconds": {
        "duckdb": "cast(({0}) * 1e12 as bigint)",
        "spark": "cast(round(({0}) * 1e12) as decimal(38, 0))",
    },
    "whole": {
        "duckdb": "cast(({0}) as hugeint)",
        "spark": "cast(({0}) as decimal(38, 0))",
    },
    # A whole number for a text: equal texts have equal ones, and others hardly ever.
    "key_of": {"duckdb": "cast(hash({0}) >> 1 as bigint)", "spark": "xxhash64({0})"},
    # The price of GPU-picoseconds at a price per GPU-hour, summed: exact until its last step.
    "sum_gpu_cost": {
        "duckdb": (
            "cast(cast(sum(cast({0} as hugeint) * cast(cast({1} as decimal(38, 9)) * 1000000000"
            " as hugeint)) as double) / 3.6e24 as decimal(38, 9))"
        ),
        "spark": (
            "cast(cast(sum(cast({0} as decimal(38, 0)) * cast({1} * 1000000000"
            " as decimal(38, 0))) as double) / 3.6e24 as decimal(38, 9))"
        ),
    },
    # A count of tokens as the length of a call with so many of input and output: a call of which no
    # token was processed (refused, or answered by a gateway's cache) tells no length.
    "length_of": {
        "duckdb": "case when {1} = 0 and {2} = 0 then null else {0} end",
        "spark": "case when {1} = 0 and {2} = 0 then null else {0} end",
    },
    # Whether one of a call's four instants stands at a bound, because it lies beyond: LATEST_AT.
    "is_beyond": dict.fromkeys(
        ("duckdb", "spark"),
        "coalesce(greatest(abs({0}), abs({1}), abs({2}), abs({3})) >= 4611686018427387903, false)",
    ),
    # A sum of seconds as whole picoseconds: the same whatever the order of the rows.
    "sum_picoseconds": {
        "duckdb": "cast(sum(cast(({0}) * 1e12 as bigint)) as decimal(38, 0))",
        "spark": "sum(cast(round(({0}) * 1e12) as decimal(38, 0)))",
    },
}
"""Helper to dialect to template."""

_NAME = re.compile(r"\b(" + "|".join(TEMPLATES) + r")\(")
_QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*")
_PARAMETER = re.compile(r"\$(\w+)")


def expand(text: str, dialect: Dialect = "duckdb") -> str:
    """`text` with every helper replaced by its template in `dialect`, innermost first."""
    found = _first_helper(text)
    while found is not None:
        inside = _closing(text, found.end())
        arguments = [expand(part.strip(), dialect) for part in _split(text[found.end() : inside])]
        template = TEMPLATES[found.group(1)][dialect]
        try:
            replaced = template.format(*arguments)
        except IndexError:
            raise QuestionFileError(
                f"{found.group(1)} is given {len(arguments)} argument(s), its template is "
                f"{template!r}"
            ) from None
        head = text[: found.start()] + replaced
        rest = expand(text[inside + 1 :], dialect)
        return _mark_parameters(head, dialect) + rest
    return _mark_parameters(text, dialect)


def parameters_of(text: str) -> frozenset[str]:
    """The names that `text` binds, comments and literals left out."""
    return frozenset(_PARAMETER.findall(_QUOTED.sub("", text)))


def _mark_parameters(text: str, dialect: Dialect) -> str:
    return _PARAMETER.sub(r":\1", text) if dialect == "spark" else text


def _first_helper(text: str) -> re.Match[str] | None:
    hidden = [match.span() for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        if not any(start <= match.start() < end for start, end in hidden):
            return match
    return None


def _characters(text: str, start: int) -> Iterator[tuple[int, str, int]]:
    """Position, character and depth of parentheses from `start` on, literals left out."""
    depth, position = 0, start
    while position < len(text):
        quoted = _QUOTED.match(text, position)
        if quoted is not None:
            position = quoted.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        yield position, text[position], depth
        position += 1


def _closing(text: str, start: int) -> int:
    for position, _, depth in _characters(text, start):
        if depth < 0:
            return position
    raise QuestionFileError(f"no closing parenthesis for {text[max(0, start - 40) : start]!r}")


def _split(text: str) -> list[str]:
    commas = [at for at, character, depth in _characters(text, 0) if character == "," and not depth]
    bounds = [-1, *commas, len(text)]
    return [text[a + 1 : b] for a, b in pairwise(bounds)]
