"""One line of `gpuledger check`.

Owns the verdicts: `ok`, `failed`, and `told` for a count that is no fault.
"""

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "failed", "told"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was checked, whether it holds, and the numbers that say so."""

    check: str
    result: Result
    evidence: str


def verdict(check: str, holds: bool, evidence: str) -> Finding:
    """`ok` where `holds`, else `failed`."""
    return Finding(check=check, result="ok" if holds else "failed", evidence=evidence)
