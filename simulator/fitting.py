"""A trace made small enough for the engine at hand: fewer sessions, shorter prompts and outputs.

Owns thinning and scaling, each only where asked for and told in a sentence. Refuses a trace that
does not fit the engine's context.
"""

import dataclasses
import hashlib

import polars as pl

from simulator.errors import TraceError
from simulator.trace import Trace, TracedCall

LARGEST_SESSION_SHARE = 4
"""A session that holds more than a quarter of the limit leaves no room to choose others."""


def with_sessions(rows: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    """`rows` with a column `session`: the conversation, else the calls of one shared beginning.

    How many leading blocks make a beginning is the least number at which half of the calls are in
    sessions of at most a quarter of `limit`, so that a system prompt of everybody is no session.
    """
    own = pl.concat_str(pl.lit("call "), pl.col("call_id"))
    named = pl.concat_str(pl.lit("conversation "), pl.col("conversation_id"))
    depths = int(rows["prefix_hashes"].list.len().max() or 0)  # type: ignore[arg-type]
    largest = max(1, (limit or rows.height) // LARGEST_SESSION_SHARE)
    for depth in range(1, depths + 1):
        labelled = rows.with_columns(pl.coalesce(named, _beginning(depth), own).alias("session"))
        sizes = labelled.group_by("session").len().filter(pl.col("len") <= largest)["len"]
        if 2 * int(sizes.sum()) >= rows.height:
            return labelled
    return rows.with_columns(pl.coalesce(named, own).alias("session"))


def _beginning(depth: int) -> pl.Expr:
    """A name for the first `depth` blocks of a call; null where it has fewer."""
    blocks = pl.col("prefix_hashes")
    name = blocks.list.head(depth).cast(pl.List(pl.String)).list.join(" ")
    return pl.when(blocks.list.len() >= depth).then(pl.concat_str(pl.lit("blocks "), name))


def thinned(rows: pl.DataFrame, limit: int | None, seed: int) -> tuple[pl.DataFrame, list[str]]:
    """At most `limit` rows in whole sessions drawn by `seed`, and the sentence that says so."""
    if limit is None or rows.height <= limit:
        return rows, []
    sizes = rows.group_by("session").len().rows()
    order = sorted(sizes, key=lambda size: hashlib.sha256(f"{seed} {size[0]}".encode()).digest())
    chosen: list[str] = []
    room = limit
    for session, count in order:
        if count <= room:
            chosen.append(session)
            room -= count
    if not chosen:
        smallest = min(count for _, count in sizes)
        raise TraceError(
            f"the smallest session has {smallest:,} calls, more than --limit {limit:,}; sessions "
            "are replayed whole, so raise the limit"
        )
    kept = rows.filter(pl.col("session").is_in(chosen))
    note = (
        f"{kept.height:,} of {rows.height:,} calls are replayed: {len(chosen):,} of "
        f"{len(sizes):,} whole sessions, drawn with seed {seed}"
    )
    return kept, [note]


def with_shorter_prompts(trace: Trace, limit_tokens: int | None) -> Trace:
    """Every prompt shortened by one factor so that the longest has at most `limit_tokens`.

    Blocks shrink by the same factor, so that the share of each prompt that is shared stays.
    """
    longest = max(call.input_tokens for call in trace.calls)
    if limit_tokens is None or longest <= limit_tokens:
        return trace
    block_tokens = max(call.block_tokens for call in trace.calls)
    new_block = block_tokens * limit_tokens // longest
    if block_tokens and not new_block:
        raise TraceError(
            f"--limit-input {limit_tokens:,} leaves less than one token of each block of "
            f"{block_tokens:,}; the longest prompt has {longest:,} tokens, so at least "
            f"{-(-longest // block_tokens):,} are needed"
        )
    factor = new_block / block_tokens if block_tokens else limit_tokens / longest
    calls = tuple(_with_shorter_prompt(call, factor, new_block) for call in trace.calls)
    blocks = f", blocks from {block_tokens:,} to {new_block:,} tokens" if block_tokens else ""
    note = (
        f"prompts are scaled by {factor:.4g}: the longest from {longest:,} to "
        f"{max(call.input_tokens for call in calls):,} tokens{blocks}"
    )
    return dataclasses.replace(trace, calls=calls, notes=(*trace.notes, note))


def with_shorter_outputs(trace: Trace, limit_tokens: int | None) -> Trace:
    """Every output shortened by one factor so that the longest has `limit_tokens`."""
    longest = max(call.output_tokens for call in trace.calls)
    if limit_tokens is None or longest <= limit_tokens:
        return trace
    calls = tuple(
        dataclasses.replace(
            call, output_tokens=max(1, round(call.output_tokens * limit_tokens / longest))
        )
        for call in trace.calls
    )
    note = (
        f"outputs are scaled by {limit_tokens / longest:.4g}: the longest from {longest:,} to "
        f"{limit_tokens:,} tokens"
    )
    return dataclasses.replace(trace, calls=calls, notes=(*trace.notes, note))


def refuse_oversized(trace: Trace, context_tokens: int, arm: str) -> None:
    """Raises `TraceError` where a call has no room in the engine's context."""
    too_long = [c for c in trace.calls if c.input_tokens + c.output_tokens > context_tokens]
    if too_long:
        worst = max(too_long, key=lambda call: call.input_tokens + call.output_tokens)
        raise TraceError(
            f"{len(too_long):,} of {len(trace.calls):,} calls do not fit the engine's context of "
            f"{context_tokens:,} tokens ({arm}); the longest has {worst.input_tokens:,} input and "
            f"{worst.output_tokens:,} output tokens; {_scaling(trace, context_tokens)}, or raise "
            f"context_tokens to {worst.input_tokens + worst.output_tokens:,} or more"
        )


def _scaling(trace: Trace, context_tokens: int) -> str:
    """The limits under which every call of `trace` has room in `context_tokens`."""
    output_tokens = max(call.output_tokens for call in trace.calls)
    if output_tokens < context_tokens:
        return f"scale the prompts with --limit-input {context_tokens - output_tokens}"
    half = context_tokens // 2
    return f"scale the trace with --limit-input {half} --limit-output {context_tokens - half}"


def _with_shorter_prompt(call: TracedCall, factor: float, new_block: int) -> TracedCall:
    if not call.block_tokens:
        shorter = max(1, round(call.input_tokens * factor))
        return dataclasses.replace(call, input_tokens=shorter)
    full, rest = divmod(call.input_tokens, call.block_tokens)
    new_rest = min(new_block, max(1, round(rest * factor))) if rest else 0
    return dataclasses.replace(
        call, input_tokens=full * new_block + new_rest, block_tokens=new_block
    )
