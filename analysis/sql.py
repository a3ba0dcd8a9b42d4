"""Question files: the header as facts, the text for a dialect, the values bound.

Owns how a `.sql` file of this folder is read and run. Refuses a header with a missing or unknown
field, a parameter that the header does not name, and a value that the file does not bind.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from analysis.errors import QuestionFileError
from analysis.facts import FIELDS, Facts
from analysis.helpers import Dialect, expand, parameters_of
from ingest.ledger import Connection

_FIELD = re.compile(r"-- (\w+):(?: (.*))?$")
_CONTINUED = re.compile(r"--   +(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Facts):
    """One question file: what its header says, and its text with helper names."""

    text: str

    @property
    def parameters(self) -> frozenset[str]:
        """The names that a caller must bind."""
        return frozenset(re.findall(r"\$(\w+)", self.params))

    def sql(self, dialect: Dialect = "duckdb") -> str:
        """The statement as `dialect` runs it."""
        return expand(self.text, dialect)


def parse_question(content: str, file_name: str) -> Question:
    """The question that the file's `content` states.

    Raises `QuestionFileError` with the file, the field and what is known.
    """
    header, body = _split_header(content)
    unknown = sorted(set(header) - set(FIELDS))
    missing = [name for name in FIELDS if not header.get(name)]
    if unknown or missing:
        raise QuestionFileError(
            f"{file_name}: header has unknown {unknown} and lacks {missing}; "
            f"its fields are {', '.join(FIELDS)}"
        )
    if header["name"] != file_name.removesuffix(".sql"):
        raise QuestionFileError(f"{file_name}: the header names it {header['name']!r}")
    question = Question(**header, text=body)
    bound = parameters_of(body)
    if question.parameters != bound:
        raise QuestionFileError(
            f"{file_name}: params name {sorted(question.parameters)}, the text binds "
            f"{sorted(bound)}"
        )
    return question


def _split_header(content: str) -> tuple[dict[str, str], str]:
    header: dict[str, str] = {}
    lines = content.splitlines()
    last = ""
    for number, line in enumerate(lines):
        if not line.startswith("--"):
            return header, "\n".join(lines[number:]).strip()
        if found := _FIELD.match(line):
            last, value = found.group(1), found.group(2) or ""
            header[last] = value.strip()
        elif (more := _CONTINUED.match(line)) and last:
            header[last] = f"{header[last]} {more.group(1).strip()}"
    return header, ""


@cache
def question_named(name: str, folder: str = "questions") -> Question:
    """The question of file `name`.sql in `folder` of this package."""
    entry = files("analysis") / folder / f"{name}.sql"
    return parse_question(entry.read_text("utf-8"), entry.name)


def all_questions(folder: str = "questions") -> list[Question]:
    """Every question of `folder`, by name."""
    entries = sorted((files("analysis") / folder).iterdir(), key=lambda entry: entry.name)
    return [
        question_named(entry.name.removesuffix(".sql"), folder)
        for entry in entries
        if entry.name.endswith(".sql")
    ]


def run_question(connection: Connection, question: Question, **values: Any) -> pl.DataFrame:
    """The rows of `question` with `values` bound; every parameter, and no other, has a value."""
    _check_bound(question, values)
    frame: pl.DataFrame = connection.sql(question.sql(), params=values).pl()
    return frame


def run_in_batches(
    connection: Connection, question: Question, rows: int, **values: Any
) -> Iterator[pl.DataFrame]:
    """The rows of `question` in frames of about so many `rows`, as `run_question` binds it."""
    _check_bound(question, values)
    for batch in connection.sql(question.sql(), params=values).to_arrow_reader(rows):
        yield pl.DataFrame(batch)


def _check_bound(question: Question, values: Mapping[str, Any]) -> None:
    if set(values) != question.parameters:
        raise QuestionFileError(
            f"{question.name} binds {sorted(question.parameters)}, was given {sorted(values)}"
        )
