"""Levers 11, 13 and 14: beginnings of prompts that were computed again, and why.

Owns their sentences. Refuses to call a loss one of eviction or of routing where the room of a cache
or the replica of calls is not told.
"""

from collections.abc import Mapping

import polars as pl

from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.groups import groups_of
from analysis.prefix.claims import avoidable_tokens, claims_of
from analysis.prefix.engines import capacities
from analysis.prefix.orders import read_prompt_orders
from analysis.prefix.prompts import MOST_BLOCKS
from analysis.wording import counted

LEAST_RATIO = 0.001
"""Less than this share of the tokens computed is no matter of caches."""
HOW_TO_KNOW = "take the metrics of engines, or set kv_cache_tokens of [[pools]]"
FREE = "a cache takes no room from running calls here: what an engine has left for it is less"


def _tokens(asked: Asked) -> pl.DataFrame:
    """`avoidable_tokens` of the calls, with `is_limited` where the room of caches is known."""

    def read() -> pl.DataFrame:
        groups = groups_of(
            asked.connection,
            asked.configuration,
            by=("endpoint",),
            window=asked.window,
            where=asked.where,
        )
        sizes = capacities(asked.connection, asked.configuration)
        orders = read_prompt_orders(asked.connection, groups, sizes, MOST_BLOCKS)
        return avoidable_tokens(orders).with_columns(is_limited=pl.lit(orders.is_limited))

    return asked.once("avoidable_tokens", read)


def _lost(asked: Asked, cause: str, sentence: str) -> Detected:
    """The claim on tokens lost to `cause`; `sentence` says what these are."""
    rows = _tokens(asked)
    lost, computed = int(rows[cause].sum()), int(rows["computed"].sum())
    claims = claims_of(rows, cause)
    evidence = f"{lost:,} of {computed:,} computed tokens of prompts {sentence}"
    unhashed = asked.told["call_count"] - rows.height
    missing = (
        f"not compared: {counted(unhashed, 'call')} without prefix hashes, a time or a known input"
        if unhashed > 0
        else None
    )
    if lost < LEAST_RATIO * computed or claims.is_empty():
        return no(evidence, missing)
    return yes(f"{evidence}, in {counted(claims.height, 'call')}", claims, beside=FREE,
               missing=missing)  # fmt: skip


def _prefix_cache(asked: Asked) -> Detected:
    """Lever 11: the cache of the replica would hold it, and it was computed all the same."""
    if not _tokens(asked)["is_told"].any():
        return unknown("needs what calls read from a cache (cached tokens of their usage)")
    return _lost(asked, "unexplained", "would be held by a cache of their replica")


def _routing(asked: Asked) -> Detected:
    """Lever 13: another replica held it."""
    rows = _tokens(asked)
    if not rows["has_replica"].any():
        return unknown("needs the replica of each call: an engine's spans tell it")
    found = _lost(asked, "routing", "were held by another replica")
    nameless = int((~rows["has_replica"]).sum())
    if nameless and found.applies == "no":
        return no(
            str(found.evidence),
            joined(found.missing, f"the replica of {counted(nameless, 'call')} is not told"),
        )
    return found


def _offload(asked: Asked) -> Detected:
    """Lever 14: a cache without limit would have held it."""
    if not _tokens(asked)["is_limited"].any():
        return unknown(f"needs the room of caches: {HOW_TO_KNOW}")
    return _lost(asked, "eviction", "had been held, and made room for others")


DETECTIONS: Mapping[int, Detection] = {11: _prefix_cache, 13: _routing, 14: _offload}
"""By number of the lever."""
