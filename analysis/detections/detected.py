"""What is asked of a detection, and what it answers.

Owns the three answers: a lever applies, does not, or it is not known, with what is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypedDict

import polars as pl

from analysis.errors import NoDataError
from analysis.repetition import Known, known_hashes
from analysis.selection import PRODUCTION, Filters, caller_values, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

Applies = Literal["yes", "no", "unknown"]


class Choice(TypedDict):
    """Which calls a question is asked of."""

    window: Window
    where: Filters | None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The calls that a detection looks at; what several detections need is read once."""

    ledger: Ledger
    configuration: Configuration
    window: Window
    filters: Filters
    _kept: dict[str, pl.DataFrame | NoDataError] = field(default_factory=dict)

    @property
    def connection(self) -> Connection:
        """The ledger's."""
        return self.ledger.connection

    @property
    def where(self) -> Filters | None:
        """The filters as a question takes them; None where there are none."""
        others = {name: value for name, value in self.filters.items() if name != "origin"}
        return others if self.filters["origin"] == PRODUCTION else self.filters

    @property
    def choice(self) -> Choice:
        """The window and the filters as a question takes them."""
        return {"window": self.window, "where": self.where}

    def where_among(self, columns: Sequence[str]) -> Filters:
        """Those of the filters that a question knows which lists by `columns`.

        The others are applied where claims meet the bill.
        """
        return {
            name: value
            for name, value in (self.where or {}).items()
            if name in columns and value is not None
        }

    def once(self, name: str, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """What `read` returns, read once for all detections that ask by this `name`.

        That it raises `NoDataError` is kept as well.
        """
        if name not in self._kept:
            try:
                self._kept[name] = read()
            except NoDataError as error:
                self._kept[name] = error
        found = self._kept[name]
        if isinstance(found, NoDataError):
            raise found
        return found

    @cached_property
    def hashes(self) -> dict[str, Known]:
        """How many of the calls and of the runs of their traces can be compared, by kind."""
        return dict(known_hashes(self.connection, self.window, self.where))

    @cached_property
    def told(self) -> dict[str, Any]:
        """How many of the calls tell what: a row of `told_facts`."""
        cohorts = read_cohorts(self.connection, self.filters)
        rows = run_question(
            self.connection,
            question_named("told_facts"),
            cohort_ids=cohorts["cohort_id"].to_list(),
            since=self.window.since,
            until=self.window.until,
            **caller_values(self.filters),
        )
        return rows.row(0, named=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """Whether a lever applies, by which evidence, on which calls, and what is not known.

    `beside` is said after the figures of the claims. `claims` are as `analysis/claims.py` has them;
    None where the ledger cannot attribute a saving. `is_seen`: the evidence holds however little
    the claims come to.
    """

    applies: Applies
    evidence: str | None = None
    beside: str | None = None
    claims: pl.DataFrame | None = None
    missing: str | None = None
    is_seen: bool = False


Detection = Callable[[Asked], Detected]


def yes(
    evidence: str,
    claims: pl.DataFrame | None = None,
    *,
    beside: str | None = None,
    missing: str | None = None,
    is_seen: bool = False,
) -> Detected:
    """The lever applies."""
    return Detected(
        applies="yes",
        evidence=evidence,
        beside=beside,
        claims=claims,
        missing=missing,
        is_seen=is_seen,
    )


def no(evidence: str, missing: str | None = None) -> Detected:
    """The lever has nothing to do here."""
    return Detected(applies="no", evidence=evidence, missing=missing)


def unknown(missing: str, evidence: str | None = None) -> Detected:
    """It cannot be told: `missing` says what is needed."""
    return Detected(applies="unknown", evidence=evidence, missing=missing)


def joined(*parts: str | None) -> str | None:
    """The parts that there are, one sentence after the other; None for none."""
    return "; ".join(part for part in parts if part) or None
