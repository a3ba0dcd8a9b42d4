"""Which calls an answer is about: the cohorts and callers that a filter selects, and its words.

Owns the default that replays are not production. Refuses an unknown column.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from analysis.columns import CALLER_COLUMNS, COHORT_COLUMNS, checked_filters
from analysis.sql import question_named, run_question
from ingest.ledger import Connection

PRODUCTION = "production"

Filters = Mapping[str, str | None]
"""Column to wanted value; None selects the calls of which the value is not known."""


def selected(where: Filters | None) -> Filters:
    """`where` with the origin `production` unless it names one."""
    checked_filters(where or ())
    return {"origin": PRODUCTION} | dict(where or {})


def read_cohorts(connection: Connection, filters: Filters) -> pl.DataFrame:
    """The cohorts that `filters` select, with all their columns."""
    cohorts = run_question(connection, question_named("cohorts"))
    for column, value in filters.items():
        if column in COHORT_COLUMNS:
            wanted = pl.lit(value, dtype=pl.String)
            cohorts = cohorts.filter(pl.col(column).eq_missing(wanted))
    return cohorts


def caller_values(filters: Filters) -> dict[str, Any]:
    """What a question binds to select the calls of one user or one conversation."""
    return {
        "user_id": filters.get("user_id"),
        "conversation_id": filters.get("conversation_id"),
        "any_user": "user_id" not in filters,
        "any_conversation": "conversation_id" not in filters,
    }


def of_all_callers(filters: Filters) -> Filters:
    """`filters` without those that select one user or one conversation."""
    return {column: value for column, value in filters.items() if column not in CALLER_COLUMNS}


def filter_text(filters: Filters) -> str:
    """The filter in words."""
    return ", ".join(
        f"{column} unknown" if value is None else f"{column}={value}"
        for column, value in filters.items()
    )
