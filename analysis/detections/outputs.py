"""Levers 23 to 26, 37 and 38: what answers are made of.

Owns their sentences. What is claimed are tokens that need not be written; names of keys are not
among them, for how short they can be is not known.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.boilerplate import boilerplate_claims
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.detections.lengths import LONG_TAIL
from analysis.lengths import length
from analysis.output_format import output_format, output_format_claims
from analysis.routing import NO_OTHER, routing, routing_claims
from analysis.wording import counted

MOSTLY = 0.5
MOST_ENDPOINTS = 3
NARROW_RATIO = 0.95
VOLUME = 1_000
"""Fewer answers are not worth a model of their own."""


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
    evidence = f"{sums['preamble']:,} tokens before JSON, {sums['blank']:,} of blanks in it"
    if claims.is_empty():
        return no(str(joined(evidence, keys)), missing)
    return yes(evidence, claims, beside=keys, missing=missing)


def _restated(asked: Asked) -> Detected:
    """Lever 26: the question said again, and sentences that many answers have."""
    missing = _unmeasured(asked)
    restated = _claims(asked, ("restated",))
    repeated = boilerplate_claims(asked.ledger, window=asked.window, where=asked.where)
    claims = (
        pl.concat([restated, repeated])
        .group_by("call_no")
        .agg(pl.col("prefill_ratio", "decode_ratio").max())
    )
    if claims.is_empty():
        return no("no answer says its question again, or what many others say", missing)
    evidence = (
        f"{counted(restated.height, 'answer')} with the question said again, "
        f"{_sum(asked, 'restated_tokens'):,} tokens; {counted(repeated.height, 'answer')} with "
        "sentences of many others"
    )
    return yes(evidence, claims, beside="at most: some may have to be there", missing=missing)


def _modes(asked: Asked) -> Detected:
    """Lever 24: endpoints of prose with a long tail of answers."""
    shapes = _rows(asked).with_columns(prose_ratio=pl.col("prose_count") / pl.col("measured_count"))
    prose = shapes.filter(pl.col("prose_ratio") >= MOSTLY)["endpoint"].to_list()
    rows = length(
        asked.ledger, asked.configuration, window=asked.window, where=asked.where
    ).frame.filter(pl.col("measure") == "output", pl.col("p50_tokens") > 0)
    told = rows.filter(pl.col("endpoint").is_in(prose)).with_columns(
        tail=pl.col("p99_tokens") / pl.col("p50_tokens")
    )
    if told.is_empty():
        return no("no endpoint answers mostly in prose", _unmeasured(asked))
    long = told.filter(pl.col("tail") >= LONG_TAIL).sort("tail", descending=True)
    texts = [
        f"prose of {row['endpoint']} has p99 {row['p99_tokens']:,.0f} tokens, {row['tail']:.1f} "
        "times the median"
        for row in (long if long.height else told.head(1)).to_dicts()
    ]
    evidence = str(joined(*texts[:MOST_ENDPOINTS]))
    if long.is_empty():
        return no(f"no tail is long: {evidence}", _unmeasured(asked))
    return yes(
        evidence, missing=joined("needs a replay with a concise instruction", _unmeasured(asked))
    )


def _smaller_model(asked: Asked) -> Detected:
    """Lever 37: simple work on a model that is not the cheapest."""
    rows = routing(asked.ledger, asked.configuration, **asked.choice).frame
    simple = rows.filter(pl.col("simple_count") > 0)
    missing = _unmeasured(asked)
    if simple.is_empty():
        return no("no endpoint gives a model mostly simple work", missing)
    texts = [
        f"{counted(row['simple_count'], 'simple call')} of "
        f"{row['endpoint'] or 'no known endpoint'} on {row['model'] or 'a model without name'}, "
        f"{row['other_model'] or 'no other model of the ledger'} costs less"
        for row in simple.head(MOST_ENDPOINTS).to_dicts()
    ]
    gate = "needs a replay on both models with the quality gate"
    if not simple["saved_cost"].count():
        return unknown(str(joined(NO_OTHER, missing)), joined(*texts))
    claims = routing_claims(asked.ledger, asked.configuration, **asked.choice)
    return yes(
        str(joined(*texts)),
        claims,
        beside="GPU-seconds stand for what they cost beyond the other model",
        missing=joined(gate, missing),
    )


def _distilled(asked: Asked) -> Detected:
    """Lever 38: an endpoint with volume whose answers have one narrow form."""
    rows = _rows(asked)
    narrow = rows.with_columns(
        narrow_ratio=(pl.col("json_count") + pl.col("label_count")) / pl.col("measured_count")
    ).filter(
        pl.col("narrow_ratio") >= NARROW_RATIO,
        pl.col("measured_count") >= VOLUME,
        pl.col("decode_gpu_seconds") > 0,
    )
    on_gpus = rows.filter(pl.col("decode_gpu_seconds") > 0)
    if on_gpus.height and (on_gpus["measured_count"] < VOLUME).all():
        most = max(on_gpus["measured_count"].to_list())
        return unknown(
            str(joined(f"needs {VOLUME:,} answers or more of an endpoint", _unmeasured(asked))),
            f"no endpoint on GPUs has more than {most:,} answers that were measured",
        )
    if narrow.is_empty():
        return no(
            f"no endpoint on GPUs has {VOLUME:,} answers or more of which nearly all are JSON or "
            "a label",
            _unmeasured(asked),
        )
    texts = [
        f"{row['narrow_ratio']:.0%} of {counted(row['measured_count'], 'answer')} of "
        f"{row['endpoint'] or 'no known endpoint'} are JSON or a label"
        for row in narrow.sort("decode_gpu_seconds", descending=True)
        .head(MOST_ENDPOINTS)
        .to_dicts()
    ]
    needs = "needs an endpoint with the smaller model, and the quality gate"
    return yes(str(joined(*texts)), missing=joined(needs, _unmeasured(asked)))


DETECTIONS: Mapping[int, Detection] = {
    23: _stop,
    24: _modes,
    25: _structured,
    26: _restated,
    37: _smaller_model,
    38: _distilled,
}
"""By number of the lever."""
