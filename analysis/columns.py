"""The columns by which an answer may be grouped or filtered.

Owns their names. Refuses any other with the nearest one, so that no identifier comes from input.
"""

import difflib
from collections.abc import Iterable

from analysis.errors import WrongQuestionError

COHORT_COLUMNS = (
    "origin",
    "endpoint",
    "endpoint_source",
    "feature",
    "team",
    "tenant",
    "service",
    "environment",
    "region",
    "operation",
    "provider",
    "model_requested",
    "model",
    "pool",
    "pool_reported",
    "adapter",
    "status",
    "timing_source",
    "timing_quality",
    "tokens_source",
    "pairing",
    "scenario",
    "arm",
)
"""Shared by all calls of a cohort: totals per cohort are enough."""

CALLER_COLUMNS = ("user_id", "conversation_id")
"""Known per call: totals need the call."""

TIME_COLUMNS = ("hour", "day", "month")
"""Parts of the time zone's calendar."""

GROUP_COLUMNS = (*COHORT_COLUMNS, *CALLER_COLUMNS, *TIME_COLUMNS)
FILTER_COLUMNS = (*COHORT_COLUMNS, *CALLER_COLUMNS)

MOST_GROUP_COLUMNS = 2
EXCLUSIVE_COLUMNS = (CALLER_COLUMNS, TIME_COLUMNS)
"""Of each of these kinds an answer is grouped by at most one."""


def checked_groups(by: Iterable[str]) -> tuple[str, ...]:
    """`by` as it stands, at most two known columns, none twice."""
    columns = tuple(by)
    for column in columns:
        _refuse_unknown(column, GROUP_COLUMNS, "group by")
    if len(set(columns)) != len(columns):
        raise WrongQuestionError(f"the same column twice in {', '.join(columns)}; name it once")
    if len(columns) > MOST_GROUP_COLUMNS:
        raise WrongQuestionError(
            f"{len(columns)} columns to group by; at most {MOST_GROUP_COLUMNS} make a table"
        )
    for kind in EXCLUSIVE_COLUMNS:
        if sum(column in kind for column in columns) > 1:
            raise WrongQuestionError(
                f"cannot group by {' and '.join(columns)} at once; choose one of {', '.join(kind)}"
            )
    return columns


def parsed_filters(
    conditions: Iterable[str], known: tuple[str, ...] = FILTER_COLUMNS
) -> dict[str, str | None]:
    """Column to wanted value of conditions such as `endpoint=/chat`; no value means unknown.

    Raises `WrongQuestionError` for a column that is none of `known`.
    """
    filters: dict[str, str | None] = {}
    for condition in conditions:
        column, sign, value = condition.partition("=")
        column = column.strip()
        if not sign:
            raise WrongQuestionError(f"{condition!r} is no condition; write it as column=value")
        _refuse_unknown(column, known, "filter by")
        if column in filters:
            raise WrongQuestionError(f"two conditions on {column!r}; a row has one value there")
        filters[column] = value.strip() or None
    return filters


def checked_filters(filters: Iterable[str]) -> None:
    """Raises `WrongQuestionError` where a column cannot be filtered by."""
    for column in filters:
        _refuse_unknown(column, FILTER_COLUMNS, "filter by")


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest of `known`, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"


def _refuse_unknown(column: str, known: tuple[str, ...], what: str) -> None:
    if column not in known:
        raise WrongQuestionError(f"cannot {what} {column!r}; {nearest(column, known)}")
