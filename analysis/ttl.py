"""How long an answer may be given again.

Owns the words of such a time on the command line, and its default. Refuses any but whole seconds,
minutes, hours and days.
"""

import re

from analysis.errors import WrongQuestionError
from ingest.calls.timing import LATEST_AT

DEFAULT_TTL = "1h"
SECOND_NS = 1_000_000_000
DEFAULT_TTL_NS = 3_600 * SECOND_NS
UNIT_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TTL = re.compile(r"([1-9][0-9]{0,6})([smhd])")


def parsed_ttl_ns(text: str) -> int:
    """The nanoseconds of "90s", "15m", "1h" or "7d"; raises `WrongQuestionError` for others."""
    found = _TTL.fullmatch(text)
    if found is None:
        raise WrongQuestionError(f"{text!r} is no time to live; write it as 90s, 15m, 1h or 7d")
    nanoseconds = int(found[1]) * UNIT_S[found[2]] * SECOND_NS
    if nanoseconds > LATEST_AT:
        longest = LATEST_AT // (UNIT_S["d"] * SECOND_NS)
        raise WrongQuestionError(f"{text!r} is longer than any ledger; at most {longest}d")
    return nanoseconds


def ttl_text(nanoseconds: int) -> str:
    """So many nanoseconds in words: "3,600 s"."""
    return f"{nanoseconds / SECOND_NS:,.0f} s"
