"""How far back each block of a prompt was last used: the cache that would still hold it.

Owns reuse distances under least-recently-used eviction (Mattson et al. 1970, "Evaluation
techniques for storage hierarchies"): one pass tells the hits of a cache of every size. Refuses
text and money: blocks are numbers here.

A prompt is looked up whole before any of its blocks is used, and its last blocks age first, as in
an engine that frees the tail of a prefix before its head. So of two blocks of one prompt the one
nearer to the beginning never has the larger distance, and hits are always leading blocks.
"""

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

NEVER = -1
"""The distance of a block that was not used before."""


def used_before(block_ids: Integers) -> npt.NDArray[np.bool_]:
    """For each block whether a prompt before used it; `block_ids` as for `reuse_distances`."""
    if len(block_ids) == 0:
        return np.empty(0, dtype=np.bool_)
    order = np.argsort(block_ids, kind="stable")
    before = np.zeros(len(block_ids), dtype=np.bool_)
    before[order[1:][block_ids[order][1:] == block_ids[order][:-1]]] = True
    return before


def used_again(block_ids: Integers) -> npt.NDArray[np.bool_]:
    """For each block whether another prompt, before or after, uses it."""
    order = np.argsort(block_ids, kind="stable")
    is_next = block_ids[order][1:] == block_ids[order][:-1]
    again = np.zeros(len(block_ids), dtype=np.bool_)
    again[order[1:][is_next]] = True
    again[order[:-1][is_next]] = True
    return again


def reuse_distances(block_ids: Integers, prompt_starts: Integers) -> Integers:
    """For each block, how many distinct blocks were used since its last use, itself included.

    `block_ids` of shape (n,) are the blocks of all prompts in the order of arrival, those of a
    prompt from its first to its last, none twice in one prompt. `prompt_starts` of shape (p,) are
    the positions at which prompts begin, increasing from 0; no prompt is empty. A cache of c
    blocks holds a block at its lookup if and only if its distance is from 1 to c. `NEVER` where a
    block was not used before.
    """
    count = len(block_ids)
    if count == 0:
        return np.empty(0, dtype=np.int64)
    lengths = np.diff(np.append(prompt_starts, count))
    starts = np.repeat(prompt_starts, lengths)
    ends = starts + np.repeat(lengths, lengths)
    used_at = starts + ends - 1 - np.arange(count)
    """The place of each use in time: within a prompt from the last block to the first."""
    last_use = _last_uses(block_ids, used_at)
    in_time = np.empty(count, dtype=np.int64)
    in_time[used_at] = last_use
    known = last_use != NEVER
    distances = np.full(count, NEVER, dtype=np.int64)
    # Blocks used after t and before the lookup, each counted at the first of those uses: the uses
    # before the lookup whose last use is at t or earlier, less the t + 1 uses up to t, of which
    # each is such a one.
    before = _count_at_most(in_time, starts[known], last_use[known])
    distances[known] = before - last_use[known]
    return distances


def _last_uses(block_ids: Integers, used_at: Integers) -> Integers:
    """For each block, when it was used before; `NEVER` where it was not."""
    order = np.lexsort((used_at, block_ids))
    is_again = block_ids[order][1:] == block_ids[order][:-1]
    last_use = np.full(len(block_ids), NEVER, dtype=np.int64)
    last_use[order[1:][is_again]] = used_at[order[:-1][is_again]]
    return last_use


def _count_at_most(values: Integers, ends: Integers, bounds: Integers) -> Integers:
    """For each query, how many of the first `ends` of `values` are at most `bounds`.

    All queries walk down one wavelet matrix (The wavelet matrix, Information Systems 47, 2015)
    side by side: a pass over the values for each binary digit. Values and bounds are from -1 to
    2^31 - 3.
    """
    remaining = (values + 1).astype(np.int32)
    wanted = bounds + 2  # counted is what lies below it
    digits = int(max(remaining.max(), wanted.max(initial=0))).bit_length()
    places, found = ends.copy(), np.zeros(len(ends), dtype=np.int64)
    firsts = np.zeros(len(ends), dtype=np.int64)
    for digit in reversed(range(digits)):
        is_one = (remaining >> digit) & 1 == 1
        zeros_before = np.concatenate(([0], np.cumsum(~is_one, dtype=np.int32)))
        zero_count = zeros_before[-1]
        zeros_at_first, zeros_at_place = zeros_before[firsts], zeros_before[places]
        wants_one = (wanted >> digit) & 1 == 1
        found += np.where(wants_one, zeros_at_place - zeros_at_first, 0)
        firsts = np.where(wants_one, zero_count + firsts - zeros_at_first, zeros_at_first)
        places = np.where(wants_one, zero_count + places - zeros_at_place, zeros_at_place)
        remaining = np.concatenate((remaining[~is_one], remaining[is_one]))
    return found
