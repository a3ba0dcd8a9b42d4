"""What engines say of their own size: KV memory in tokens, the longest context.

Owns the way from labels to tokens: vLLM tells the blocks of its cache and the tokens of a block,
SGLang tells tokens. Data-parallel ranks of one instance add up. Refuses a size without a number.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analysis.engine_sources import Row, labels_of, marks_of
from analysis.engine_units import Place, read_units
from analysis.sql import question_named, run_question
from ingest.config import Configuration, Pool, effective_from_ns
from ingest.ledger import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Tokens of KV memory of one replica, and of its longest call; None where it says neither."""

    kv_cache_tokens: int | None = None
    max_model_len: int | None = None


def told_sizes(connection: Connection) -> dict[str, dict[str | None, Size]]:
    """Pool to replica to its size; under None the least of the pool's engines."""
    rows = run_question(connection, question_named("engine_sizes"))
    if rows.is_empty():
        return {}
    places = read_units(connection).places
    kv: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    longest: dict[tuple[str, str], int] = {}
    for row in rows.iter_rows(named=True):
        pool, name = _whose(row, places)
        tokens = _tokens(row)
        if pool is None or tokens is None:
            continue
        if row["metric"] == "max_model_len":
            longest[pool, name] = tokens
        else:
            labels = labels_of(row)
            rank = labels.get("dp_rank") or labels.get("engine") or ""
            kv[pool, name][rank] = tokens
    found: dict[str, dict[str | None, Size]] = defaultdict(dict)
    for key in sorted({*kv, *longest}):
        ranks = kv.get(key)
        found[key[0]][key[1]] = Size(
            kv_cache_tokens=None if ranks is None else sum(ranks.values()),
            max_model_len=longest.get(key),
        )
    return {pool: {**sizes, None: _least(sizes)} for pool, sizes in found.items()}


def _least(sizes: Mapping[str | None, Size]) -> Size:
    """The least of each size that is told."""
    return Size(
        kv_cache_tokens=min(
            (one.kv_cache_tokens for one in sizes.values() if one.kv_cache_tokens is not None),
            default=None,
        ),
        max_model_len=min(
            (one.max_model_len for one in sizes.values() if one.max_model_len is not None),
            default=None,
        ),
    )


def _whose(row: Row, places: tuple[Place, ...]) -> tuple[str | None, str]:
    """The pool of an engine, and the name of its replica; as its other metrics tell, else its own.

    An engine that shows no instance is matched with the only one of its kind.
    """
    marks = marks_of([row])
    alike = [place for place in places if place.engine == row["engine"]]
    near = [place for place in alike if place.instance in marks] if marks else alike
    pools = {place.pool for place in near if place.pool is not None}
    if row["pool_reported"] is not None:
        pools = {row["pool_reported"]}
    replica = next((place.replica for place in near if place.replica), None)
    pool = next(iter(pools)) if len(pools) == 1 else None
    return pool, replica or row["instance"] or ""


def _tokens(row: Row) -> int | None:
    """The size that a sample tells, in tokens."""
    if row["metric"] != "kv_blocks":
        return int(row["value"]) if row["value"] > 0 else None
    labels = labels_of(row)
    blocks, tokens = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
    if not (blocks.isdecimal() and tokens.isdecimal()):
        return None
    return int(blocks) * int(tokens) or None


def kv_cache_sizes(connection: Connection, configuration: Configuration) -> dict[str, int]:
    """Pool to the tokens that a replica has KV memory for, where that is told; see `_by_pool`."""
    return _by_pool(connection, configuration, lambda one: one.kv_cache_tokens)


def max_model_lens(connection: Connection, configuration: Configuration) -> dict[str, int]:
    """Pool to the tokens that its longest call may have, where that is told; see `_by_pool`."""
    return _by_pool(connection, configuration, lambda one: one.max_model_len)


def _by_pool(
    connection: Connection,
    configuration: Configuration,
    size: Callable[[Size | Pool], int | None],
) -> dict[str, int]:
    """What the engines of a pool say, the least of them; else its last entry that says it."""
    entries = sorted(configuration.pools, key=effective_from_ns)
    told = {pool: size(sizes[None]) for pool, sizes in told_sizes(connection).items()}
    by_pool = [*((one.name, size(one)) for one in entries), *told.items()]
    return {pool: tokens for pool, tokens in by_pool if tokens is not None}
