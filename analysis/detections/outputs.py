"""Levers 23 to 26 and 37: what answers are made of.

Owns their sentences. What is claimed are tokens that need not be written; names of keys are not
among them, for how short they can be is not known.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.detections.detected import Asked, Detected, Detection, no, yes
from analysis.output_format import output_format, output_format_claims
from analysis.wording import counted

KEYS_RATIO = 0.2
"""So much of JSON is much for the names of its keys."""


def _rows(asked: Asked) -> pl.DataFrame:
    """The rows of `ask output_format`, an endpoint each."""
    return asked.once(
        "output_format",
        lambda: (
            output_format(
                asked.ledger, asked.configuration, window=asked.window, where=asked.where
            ).frame
        ),
    )


def _unmeasured(asked: Asked) -> str | None:
    rows = _rows(asked)
    count = int((rows["call_count"] - rows["measured_count"]).sum())
    return f"not measured: the answer of {counted(count, 'call')}" if count else None


def _sum(asked: Asked, column: str) -> int:
    return int(_rows(asked)[column].sum())


def _claims(asked: Asked, parts: Sequence[str]) -> pl.DataFrame:
    found = output_format_claims(asked.ledger, window=asked.window, where=asked.where, parts=parts)
    return found.filter(pl.col("decode_ratio") > 0)


def _stop(asked: Asked) -> Detected:
    """Lever 23: text after the end of JSON."""
    missing = _unmeasured(asked)
    claims = _claims(asked, ("trailing",))
    if claims.is_empty():
        return no("no answer of an endpoint that answers in JSON goes on after it", missing)
    text = f"{counted(claims.height, 'answer')} with text after the end of the JSON, "
    return yes(f"{text}{_sum(asked, 'trailing_tokens'):,} tokens", claims, missing=missing)


def _structured(asked: Asked) -> Detected:
    """Lever 25: text before JSON, blanks in it, and the names of its keys."""
    missing = _unmeasured(asked)
    claims = _claims(asked, ("preamble", "blanks"))
    sums = {name: _sum(asked, f"{name}_tokens") for name in ("preamble", "blank", "key", "json")}
    if not sums["json"]:
        return no("no endpoint answers in JSON", missing)
    keys = f"names of keys are {sums['key'] / sums['json']:.0%} of {sums['json']:,} tokens of JSON"
    if claims.is_empty() and sums["key"] < KEYS_RATIO * sums["json"]:
        return no(keys, missing)
    evidence = f"{sums['preamble']:,} tokens before JSON, {sums['blank']:,} of blanks in it"
    return yes(evidence, claims, beside=keys, missing=missing)


def _restated(asked: Asked) -> Detected:
    """Lever 26: the question said again."""
    missing = _unmeasured(asked)
    claims = _claims(asked, ("restated",))
    if claims.is_empty():
        return no("no answer says its question again", missing)
    text = f"{counted(claims.height, 'answer')} with the question said again, "
    return yes(f"{text}{_sum(asked, 'restated_tokens'):,} tokens", claims, missing=missing)


DETECTIONS: Mapping[int, Detection] = {23: _stop, 25: _structured, 26: _restated}
"""By number of the lever."""
