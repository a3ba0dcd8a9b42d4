"""Checks of the ledger against what engines count of themselves.

Owns how far B by calls may be from B by an engine's own count. Refuses to judge an engine that was
seen busy too seldom: a count now and then is a sample, and its mean has an error of its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.engine import engine
from analysis.finding import Finding, verdict
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

B_TOLERANCE_RATIO = 0.2
LEAST_BUSY_SAMPLES = 60
"""Samples of a busy engine from which on its mean batch is judged."""

BATCH = "B by calls = B by engines' counts"
TOKENS = "tokens of calls beside those that engines counted"


def engine_findings(ledger: Ledger) -> Iterator[Finding]:
    """A verdict on B, and the share of the engines' tokens that calls tell; one each."""
    rows = engine(ledger, window=Window()).frame.to_dicts()
    yield _batch([row for row in rows if row["B_ratio"] is not None], of=len(rows))
    yield _tokens([row for row in rows if row["call_output_tokens"] is not None])


def _batch(rows: Sequence[dict[str, Any]], *, of: int) -> Finding:
    judged = [row for row in rows if row["busy_samples"] >= LEAST_BUSY_SAMPLES]
    wrong = [row for row in judged if abs(row["B_ratio"] - 1) > B_TOLERANCE_RATIO]
    if not judged:
        return Finding(check=BATCH, result="told", evidence=_unjudged(len(rows), of))
    named = "; ".join(_difference(row) for row in wrong or judged)
    limit = f"at most {B_TOLERANCE_RATIO:.0%} apart is held for the same"
    return verdict(BATCH, not wrong, f"{named}; {limit}")


def _unjudged(with_calls: int, engines: int) -> str:
    """Why no engine is judged."""
    if engines == 0:
        return "no metrics of an engine"
    found = f"{counted(engines, 'engine')}, {with_calls} with calls beside"
    return f"{found}; none of these seen busy {LEAST_BUSY_SAMPLES} times" if with_calls else found


def _difference(row: dict[str, Any]) -> str:
    return (
        f"{_name(row)}: {row['B_calls']:.2f} by calls, {row['B_engine']:.2f} by "
        f"{row['busy_samples']:,} counts of the engine ({row['B_ratio'] - 1:+.0%})"
    )


def _tokens(rows: Sequence[dict[str, Any]]) -> Finding:
    shares = [_share(row) for row in rows if row["output_tokens"]]
    evidence = "; ".join(shares) or "no engine that counts tokens has calls beside"
    return Finding(check=TOKENS, result="told", evidence=evidence)


def _share(row: dict[str, Any]) -> str:
    parts = [
        f"{name} {row[tokens]:,.0f} of {row[whole]:,.0f} ({row[tokens] / row[whole]:.1%})"
        for name, tokens, whole in (
            ("input", "call_input_tokens", "prompt_tokens"),
            ("output", "call_output_tokens", "output_tokens"),
        )
        if row[tokens] is not None and row[whole]
    ]
    return f"{_name(row)}: {', '.join(parts)}"


def _name(row: dict[str, Any]) -> str:
    place = row["pool"] or row["model"] or row["engine"]
    return place if row["replica"] is None else f"{place} {row['replica']}"
