"""The prompts of a window through caches, as they are and without what looks volatile in them.

Owns what both questions about lost hits replay: the reading, the caches, the tokens that are hit.
Refuses a call without prefix hashes, a time or a known input: it is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from analysis.errors import NoDataError
from analysis.extent import no_calls
from analysis.groups import Groups
from analysis.prefix.caches import Flags, Floats, Lookups
from analysis.prefix.engines import IS_KNOWN, cache_numbers, numbered_engines, rooms
from analysis.prefix.prompts import MOST_BLOCKS, Prompts, read_orders
from analysis.sql import question_named, run_in_batches
from ingest.ledger import Connection

NO_HASHES = (
    "no call here has prefix hashes and a time: hashes are made of the texts or token ids that "
    'come with a call, unless `content` is "off" or `prefix_block_tokens` is 0; see '
    "docs/counting.md"
)
BATCH_CALLS = 50_000


@dataclass(frozen=True, kw_only=True)
class Orders:
    """All calls of the engines, in the order of `prompts.calls`, and what caches hold of them.

    `stable` are the same calls without volatile text. `room_tokens` of shape (calls,) is what the
    cache of each has room for, infinite where that is not known.
    """

    prompts: Prompts
    stable: Prompts
    room_tokens: Floats

    @property
    def calls(self) -> pl.DataFrame:
        """The calls, with `block_count` of their prompts as they are."""
        return self.prompts.calls

    @cached_property
    def is_known(self) -> Flags:
        """Whether prompt, time and input of a call are told."""
        known = IS_KNOWN & pl.col("input_tokens").is_not_null()
        return self.calls.select(known).to_series().to_numpy()

    @cached_property
    def is_asked(self) -> Flags:
        """Whether a call is one of those asked for, not one that only takes room."""
        return self.calls["group_number"].is_not_null().to_numpy()

    @cached_property
    def is_limited(self) -> bool:
        """Whether the room of any cache is known."""
        return bool(np.isfinite(self.room_tokens).any())

    @cached_property
    def has_volatile(self) -> bool:
        """Whether anything looks volatile in any prompt."""
        return bool((self.calls["volatile_spans"].list.len() > 0).any())

    @cached_property
    def nearest(self) -> Lookups:
        """Prompts as they are, each in the cache of its replica."""
        return Lookups(self.prompts, cache_numbers(self.calls, "nearest"))

    def hit_tokens(self, held: Floats) -> Floats:
        """Tokens of `held` blocks of each call, at most its input; 0 where it is unknown."""
        block_tokens = self.calls["prefix_block_tokens"].fill_null(0).to_numpy()
        inputs = self.calls["input_tokens"].fill_null(0).to_numpy()
        tokens: Floats = np.minimum(np.round(held * block_tokens), inputs)
        return np.where(self.is_known, tokens, 0.0)

    @cached_property
    def now_tokens(self) -> Floats:
        """Tokens that a cache of the known room holds of each call, in its replica."""
        return self.hit_tokens(self._held(self.nearest))

    @cached_property
    def reordered_tokens(self) -> Floats:
        """The same with the volatile text behind all other text."""
        if not self.has_volatile:
            return self.now_tokens
        caches = cache_numbers(self.stable.calls, "nearest")
        return self.hit_tokens(self._held(Lookups(self.stable, caches)))

    @cached_property
    def told_tokens(self) -> Floats:
        """Tokens that each call read from a cache as it tells itself; not a number: it does not."""
        told = self.calls["cache_read_tokens"].cast(pl.Float64).fill_null(np.nan)
        return told.to_numpy()

    @cached_property
    def computed_tokens(self) -> Floats:
        """Tokens that share the prefill of each call alike: its input less the told reads.

        Where a call does not tell what it read from a cache, none was; 0 where no input is known.
        """
        inputs = self.calls["input_tokens"].fill_null(0).to_numpy()
        computed: Floats = inputs - np.clip(np.nan_to_num(self.told_tokens), 0, inputs)
        return computed

    def _held(self, lookups: Lookups) -> Floats:
        if not self.is_limited:
            return lookups.seen()
        (held,) = lookups.held([self.room_tokens])
        return held


def read_prompt_orders(
    connection: Connection,
    groups: Groups,
    sizes: Mapping[str, int] | int,
    most_blocks: int = MOST_BLOCKS,
) -> Orders:
    """The calls of the engines of `groups`; `sizes` are tokens of KV memory by pool, or of all.

    Raises `NoDataError` where no call is in the window, or none of them has prefix hashes.
    """
    engines = numbered_engines(connection, groups.filters["origin"])
    batches = run_in_batches(
        connection,
        question_named("prompt_orders"),
        BATCH_CALLS,
        engine_cohort_ids=engines["cohort_id"].to_list(),
        engine_numbers=engines["engine_number"].to_list(),
        **groups.values(),
    )
    prompts, stable = read_orders(batches, most_blocks)
    if prompts.calls.is_empty() or prompts.calls["group_number"].count() == 0:
        raise no_calls(connection, groups.asked, groups.filters)
    if isinstance(sizes, Mapping):
        room_tokens = rooms(prompts.calls, engines, sizes)
    else:
        room_tokens = np.full(prompts.calls.height, float(sizes))
    orders = Orders(prompts=prompts, stable=stable, room_tokens=room_tokens)
    if not (orders.is_known & orders.is_asked).any():
        raise NoDataError(NO_HASHES)
    return orders
