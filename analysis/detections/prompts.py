"""Levers 27 to 30: what prompts carry beside the question.

Owns their sentences. Refuses to claim what a shorter prompt saves where the answer may need all of
it: of history, examples and long context the ledger tells a bound, and a replay the rest.
"""

from collections.abc import Mapping

import polars as pl

from analysis.chunks import CONTEXT, chunks, chunks_claims
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.examples import NONE_NOTE, examples
from analysis.history import history
from analysis.prompt_sections import prompt_sections
from analysis.wording import counted

LEAST_RATIO = 0.01
"""Less than this share of the prefill is no matter of prompts."""
LEAST_UNTOUCHED_RATIO = 0.01
"""So much of the chunks that no answer touches is a sign, whatever else a budget would save."""
MOST_ENDPOINTS = 3
AT_MOST = "at most {:,.0f} GPU-seconds of prefill"


def _retrieval_budget(asked: Asked) -> Detected:
    """Lever 27: duplicate chunks and markup in one prompt, and chunks that no answer touches."""
    rows = chunks(asked.ledger, asked.configuration, window=asked.window, where=asked.where).frame
    if not rows["chunked_count"].sum():
        return unknown(
            "needs prompts that show their chunks: mark documents, such as in <document>; see "
            "docs/counting.md"
        )
    claims = chunks_claims(asked.ledger, window=asked.window, where=asked.where, section=CONTEXT)
    sums = {
        name: int(rows[name].sum())
        for name in ("chunk_tokens", "duplicate_tokens", "markup_tokens", "judged_tokens",
                     "untouched_tokens", "near_repeated_tokens", "repeated_tokens")
    }  # fmt: skip
    evidence = (
        f"of {sums['chunk_tokens']:,} tokens of chunks {sums['duplicate_tokens']:,} stand twice in "
        f"their prompt, {sums['markup_tokens']:,} are markup"
    )
    beside = joined(
        f"{sums['repeated_tokens']:,} tokens are in other calls too",
        _untouched(sums["untouched_tokens"], sums["judged_tokens"]),
    )
    missing = _unmeasured(rows)
    if claims.is_empty() and not sums["untouched_tokens"]:
        return no(str(joined(evidence, beside)), missing)
    return yes(
        evidence,
        claims,
        beside=beside,
        missing=missing,
        is_seen=sums["untouched_tokens"] >= LEAST_UNTOUCHED_RATIO * sums["judged_tokens"] > 0,
    )


def _untouched(untouched_tokens: int, judged_tokens: int) -> str | None:
    """What answers show of the chunks that they could be compared with."""
    if not judged_tokens:
        return None
    if not untouched_tokens:
        return f"all of {judged_tokens:,} tokens are in chunks of which the answer has words"
    return (
        f"{untouched_tokens:,} of {judged_tokens:,} tokens are in chunks of which the answer has "
        "no word, a sign and no proof"
    )


def _unmeasured(rows: pl.DataFrame) -> str | None:
    unknown_count = int((rows["call_count"] - rows["known_count"]).sum())
    if not unknown_count:
        return None
    return f"not measured: the prompt of {counted(unknown_count, 'call')}"


def _memory(asked: Asked) -> Detected:
    """Lever 28: the share of history in the input of later turns."""
    frame = history(asked.ledger, asked.configuration, window=asked.window, where=asked.where).frame
    told = frame.filter(pl.col("turn").is_not_null())
    missing = _unmeasured(frame)
    later = (
        told.filter(pl.col("history_tokens") > 0)
        .group_by("endpoint")
        .agg(pl.col("history_tokens", "input_tokens", "history_gpu_seconds").sum(),
             pl.col("turn").max())
        .sort("history_gpu_seconds", "history_tokens", "endpoint",
              descending=[True, True, False], nulls_last=True)
    )  # fmt: skip
    if later.is_empty():
        return no("no call that tells its turns has a history", missing)
    texts = [
        f"{row['history_tokens']:,} tokens of history at {row['endpoint'] or 'no known endpoint'}, "
        f"{row['history_tokens'] / row['input_tokens']:.0%} of the input of these turns"
        for row in later.head(MOST_ENDPOINTS).to_dicts()
    ]
    seconds = later["history_gpu_seconds"].sum()
    beside = AT_MOST.format(seconds) if seconds else "no GPU-seconds that a cache did not save"
    whole = float(told["prefill_gpu_seconds"].sum() or 0)
    is_much = seconds >= LEAST_RATIO * whole and seconds > 0
    if not is_much:
        return no(str(joined(*texts, beside)), missing)
    needs = "needs a replay with a shorter history to say what answers need of it"
    return yes(str(joined(*texts)), beside=beside, missing=joined(needs, missing))


def _examples(asked: Asked) -> Detected:
    """Lever 29: blocks of examples that come again in call after call."""
    frame = examples(
        asked.ledger, asked.configuration, window=asked.window, where=asked.where
    ).frame
    missing = _unmeasured(frame)
    blocks = frame.filter(pl.col("examples_hash").is_not_null())
    if blocks.is_empty():
        return no(f"no examples come again; {NONE_NOTE.partition(': ')[2]}", missing)
    seconds = blocks["examples_gpu_seconds"].sum()
    most = blocks.sort("examples_tokens", descending=True).row(0, named=True)
    evidence = (
        f"{counted(blocks.height, 'block')} of examples, {blocks['examples_tokens'].sum():,} "
        f"tokens, most at {most['endpoint'] or 'no known endpoint'}: "
        f"{most['examples_ratio']:.0%} of the input of {counted(most['shown_count'], 'call')}"
    )
    return yes(
        evidence,
        beside=AT_MOST.format(seconds) if seconds else None,
        missing=joined("needs a replay without some of them", missing),
    )


def _compression(asked: Asked) -> Detected:
    """Lever 30: prefill of context and history that no cache held."""
    frame = prompt_sections(
        asked.ledger, asked.configuration, window=asked.window, where=asked.where
    ).frame
    whole = float(frame["prefill_gpu_seconds"].sum())
    long = frame.filter(pl.col("section").is_in(["context", "history"]))
    unseen = frame.filter(pl.col("section") == "other")["tokens"].sum()
    missing = f"of {unseen:,} tokens the section is not shown" if unseen else None
    if not long["tokens"].sum():
        if unseen:
            return unknown(f"needs prompts that show their sections: {missing}")
        return no("no prompt has context or history")
    seconds = long["prefill_gpu_seconds"].sum()
    evidence = (
        f"context and history are {long['tokens'].sum():,} tokens, {seconds:,.0f} of {whole:,.0f} "
        "GPU-seconds of prefill"
    )
    if seconds < LEAST_RATIO * whole:
        return no(evidence, missing)
    return yes(evidence, missing=joined("needs a compressor to replay with", missing))


DETECTIONS: Mapping[int, Detection] = {
    27: _retrieval_budget,
    28: _memory,
    29: _examples,
    30: _compression,
}
"""By number of the lever."""
