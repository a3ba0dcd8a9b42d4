"""Calls by group, time and caller: what a question over single calls binds, and its labels.

Owns the numbers that stand for the groups of an answer while it is computed. Refuses to compute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.columns import CALLER_COLUMNS, TIME_COLUMNS, checked_groups
from analysis.extent import bounded, no_calls
from analysis.scan import times_of
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Connection

NUMBERS = ("group_number", "time_number", "caller")
"""The columns by which a question numbers the group, the time and the caller of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The calls that a question is about, grouped by `columns` within `window`.

    `cohorts` has the selected cohorts with their `group_number`, `times` the quarter-hours with
    their `time_number`. `asked` is the window as it was given, `window` with both bounds.
    """

    columns: tuple[str, ...]
    filters: Filters
    asked: Window
    window: Window
    cohorts: pl.DataFrame
    times: pl.DataFrame

    def rows_of(self, connection: Connection, name: str, **values: Any) -> pl.DataFrame:
        """The rows of question `name`, with the columns grouped by in place of their numbers.

        `values` are parameters of its own. Raises `NoDataError` where it has no row.
        """
        rows = run_question(connection, question_named(name), **self.values(), **values)
        if rows.is_empty():
            raise no_calls(connection, self.asked, self.filters)
        return self.labelled(rows)

    def found(self, connection: Connection, name: str) -> pl.DataFrame:
        """As `rows_of`, and no row where nothing is found; `cohorts` must not be empty."""
        return self.labelled(run_question(connection, question_named(name), **self.values()))

    def values(self) -> dict[str, Any]:
        """What a question binds to find the calls and to number their groups, times, callers."""
        return {
            "cohort_ids": self.cohorts["cohort_id"].to_list(),
            "group_numbers": self.cohorts["group_number"].to_list(),
            "quarters": self.times["quarter"].to_list(),
            "time_numbers": self.times["time_number"].to_list(),
            "caller": next((column for column in self.columns if column in CALLER_COLUMNS), None),
            "since": self.asked.since,
            "until": self.asked.until,
            **caller_values(self.filters),
        }

    def labelled(self, rows: pl.DataFrame) -> pl.DataFrame:
        """`rows` with the columns grouped by in place of their numbers."""
        by_cohort = _of_cohorts(self.columns)
        labels = self.cohorts.select("group_number", *by_cohort).unique("group_number")
        labelled = rows.join(labels, on="group_number", how="left")
        for column in self.columns:
            if column in TIME_COLUMNS:
                names = self.times.select("time_number", column).unique("time_number")
                labelled = labelled.join(names, on="time_number", how="left")
            elif column in CALLER_COLUMNS:
                labelled = labelled.rename({"caller": column})
        own = [c for c in rows.columns if c not in NUMBERS]
        return labelled.select(*self.columns, *own)


def groups_of(
    connection: Connection,
    configuration: Configuration,
    *,
    by: Sequence[str],
    window: Window | None,
    where: Mapping[str, str | None] | None,
) -> Groups:
    """The groups of an answer by the columns `by`; raises `WrongQuestionError` for unknown ones."""
    columns = checked_groups(by)
    filters = selected(where)
    asked = window or Window(timezone=configuration.timezone)
    resolved = bounded(connection, asked, filters)
    return Groups(
        columns=columns,
        filters=filters,
        asked=asked,
        window=resolved,
        cohorts=_numbered(read_cohorts(connection, filters), _of_cohorts(columns)),
        times=times_of(columns, resolved),
    )


def _of_cohorts(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column not in (*CALLER_COLUMNS, *TIME_COLUMNS)]


def _numbered(cohorts: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """`cohorts` with `group_number`, one number for each combination of `columns`."""
    if not columns:
        return cohorts.with_columns(group_number=pl.lit(0))
    groups = cohorts.select(columns).unique(maintain_order=True).with_row_index("group_number")
    return cohorts.join(groups, on=columns, how="left", nulls_equal=True)
