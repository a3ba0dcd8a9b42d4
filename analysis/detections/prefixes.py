"""Levers 11 to 14: beginnings of prompts that were computed again, and why.

Owns their sentences. Refuses to call a loss one of eviction or of routing where the room of a cache
or the replica of calls is not told.
"""

from collections.abc import Mapping

import polars as pl

from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.groups import groups_of
from analysis.prefix.claims import avoidable_tokens, claims_of
from analysis.prefix.engines import capacities
from analysis.prefix.orders import Orders, read_prompt_orders
from analysis.prefix_loss import RUNNING, told_notes
from analysis.volatile_prefixes import BY, SIMULATED, claims_of_moved, moved_prompts
from analysis.wording import counted

LEAST_RATIO = 0.001
"""Less than this share of the tokens computed is no matter of caches."""
HOW_TO_KNOW = "take the metrics of engines, or set kv_cache_tokens of [[pools]]"


def _tokens(asked: Asked) -> pl.DataFrame:
    """`avoidable_tokens` of the calls, with `is_limited` where the room of caches is known."""

    def read() -> pl.DataFrame:
        orders = _orders(asked)
        asked.once("moved_prompts", lambda: moved_prompts(orders))
        return avoidable_tokens(orders).with_columns(is_limited=pl.lit(orders.is_limited))

    return asked.once("avoidable_tokens", read)


def _orders(asked: Asked) -> Orders:
    """The prompts, by the groups of `ask volatile_prefixes`."""
    groups = groups_of(
        asked.connection, asked.configuration, by=BY, window=asked.window, where=asked.where
    )
    sizes = capacities(asked.connection, asked.configuration)
    return read_prompt_orders(asked.connection, groups, sizes)


def _lost(asked: Asked, cause: str, sentence: str) -> Detected:
    """The claim on tokens lost to `cause`; `sentence` says what these are."""
    rows = _tokens(asked)
    lost, computed = int(rows[cause].sum()), int(rows["computed"].sum())
    claims = claims_of(rows, cause)
    evidence = f"{lost:,} of {computed:,} computed tokens of prompts {sentence}"
    missing = _unhashed(asked, rows)
    if lost < LEAST_RATIO * computed or claims.is_empty():
        return no(evidence, missing)
    return yes(f"{evidence}, in {counted(claims.height, 'call')}", claims, beside=RUNNING,
               missing=missing)  # fmt: skip


def _unhashed(asked: Asked, rows: pl.DataFrame) -> str | None:
    count = asked.told["call_count"] - rows.height
    if count <= 0:
        return None
    return f"not compared: {counted(count, 'call')} without prefix hashes, a time or a known input"


def _prefix_cache(asked: Asked) -> Detected:
    """Lever 11: the cache of the replica would hold it, and it was computed all the same."""
    if not _tokens(asked)["is_told"].any():
        return unknown("needs what calls read from a cache (cached tokens of their usage)")
    return _lost(asked, "unexplained", "would be held by a cache of their replica")


def _reorder(asked: Asked) -> Detected:
    """Lever 12: it would be held if volatile text stood behind it."""
    rows = _tokens(asked)
    moved = asked.once("moved_prompts", lambda: moved_prompts(_orders(asked)))
    missing = _unhashed(asked, rows)
    if moved.is_empty():
        return no("no prompt differs early from others that share its text", missing)
    gained = int(moved["gained"].sum()) - int(moved["forgone"].sum())
    by_kind = moved.filter(pl.col("gained") > 0).group_by("kind").len().sort("kind")
    kinds = ", ".join(f"{count:,} by {kind}" for kind, count in by_kind.iter_rows())
    return yes(
        f"prompts differ early from others that share their text ({kinds}): {gained:,} of "
        f"{int(rows['computed'].sum()):,} computed tokens would be held behind a stable beginning",
        claims_of_moved(moved),
        beside=SIMULATED,
        missing=joined(missing, *told_notes(moved)),
    )


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


DETECTIONS: Mapping[int, Detection] = {
    11: _prefix_cache,
    12: _reorder,
    13: _routing,
    14: _offload,
}
"""By number of the lever."""
