"""Is the ledger sound: what must hold, whether it does, and what was looked at.

Owns the order of the checks. Refuses to repair: a check that fails says where to look.
"""

from dataclasses import asdict

import polars as pl

from analysis.answer import Answer
from analysis.bill_checks import bill_findings
from analysis.engine_checks import engine_findings
from analysis.row_checks import row_findings
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

SCHEMA = {"check": pl.String, "result": pl.String, "evidence": pl.String}
FAILED = "failed"


def check(ledger: Ledger, configuration: Configuration) -> Answer:
    """One row a check: `ok`, `failed`, or `told` for a count of data quality."""
    findings = [
        *bill_findings(ledger, configuration),
        *engine_findings(ledger),
        *row_findings(ledger.connection),
    ]
    frame = pl.DataFrame([asdict(finding) for finding in findings], schema=SCHEMA)
    failed = frame.filter(pl.col("result") == FAILED).height
    return Answer(
        frame=frame,
        notes=(f"{failed} of {frame.height} checks failed",),
        window=Window(timezone=configuration.timezone),
    )
