"""Whether a lever applies to a pool: yes, no, or not known, with the evidence or what is missing.

Owns the form of a verdict. Refuses to rank levers: the plan does.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether lever number `lever` applies to `pool`; None where that is not known.

    `evidence` is what was found, in words; `missing` what it takes to say more.
    """

    lever: int
    pool: str
    applies: bool | None
    evidence: str | None
    missing: str | None = None


VERDICT_SCHEMA = {
    "lever": pl.Int64,
    "pool": pl.String,
    "applies": pl.Boolean,
    "evidence": pl.String,
    "missing": pl.String,
}


def verdict_frame(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """A row for each of `verdicts`, by lever and pool."""
    rows = [asdict(one) for one in verdicts]
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA).sort("lever", "pool")
