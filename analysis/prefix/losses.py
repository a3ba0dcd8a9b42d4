"""Why tokens of a prompt were computed that a cache could have held: the parts of its input.

Owns the causes and their order. Refuses a part below 0, and a token in two parts: from the first
token on, each cache that is one condition better holds a longer beginning of the prompt.
"""

import numpy as np
import numpy.typing as npt

from analysis.prefix.caches import Floats, Lookups
from analysis.prefix.engines import cache_numbers
from analysis.prefix.orders import Orders

Whole = npt.NDArray[np.int64]

CAUSES = (
    "hit",
    "unreported",
    "unexplained",
    "eviction",
    "routing",
    "volatile",
    "first_use",
    "unshared",
    "unknown",
)
"""What became of the tokens of prompts, in the order of the parts of a prompt."""


def parts(orders: Orders) -> Whole:
    """Tokens of each call by cause, of shape (calls, causes); each row adds up to its input.

    - hit: read from a cache, as the call tells
    - unreported: held by the cache of its replica, and the call does not tell what it read
    - unexplained: held by that cache, and yet not read
    - eviction: held if the cache of the replica had no limit
    - routing: held if all replicas shared one
    - volatile: held if what looks volatile stood behind all other text
    - first_use: first sent here, and shared with a later call
    - unshared: in no other prompt's beginning
    - unknown: the prompt, its time or its input is not told
    """
    calls = orders.calls
    inputs = calls["input_tokens"].fill_null(0).to_numpy()
    pool = cache_numbers(calls, "pool")
    is_told = ~np.isnan(orders.told_tokens)
    edges = [
        np.where(is_told, 0.0, orders.now_tokens),
        orders.now_tokens,
        orders.hit_tokens(orders.nearest.seen()),
        orders.hit_tokens(Lookups(orders.prompts, pool).seen()),
    ]
    stable = Lookups(orders.stable, pool)
    edges += [orders.hit_tokens(stable.seen()), orders.hit_tokens(stable.shared()), inputs]
    reached = (inputs - orders.computed_tokens).astype(np.int64)
    found = np.zeros((calls.height, len(CAUSES)), dtype=np.int64)
    found[:, 0] = reached
    for place, edge in enumerate(edges, start=1):
        further = np.maximum(reached, edge.astype(np.int64))
        found[:, place] = further - reached
        reached = further
    found[~orders.is_known] = 0
    found[~orders.is_known, -1] = inputs[~orders.is_known]
    return found


def portions(found: Whole) -> Floats:
    """The share of what a call's prefill cost up to each cause, of shape (calls, causes).

    It is spread over `Orders.computed_tokens`, all but the hits. Where there are none, all of it is
    `unshared`, or `unknown`.
    """
    computed = found.copy()
    computed[:, 0] = 0
    none = computed.sum(axis=1) == 0
    computed[none, -2] = 1
    up_to = np.cumsum(computed, axis=1)
    return up_to / up_to[:, -1:]
