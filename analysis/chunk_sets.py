"""Chunks of many prompts at once: what each call could leave out, and what other calls hold too.

Owns the set work over chunks. Refuses to say whether a chunk is needed: that one is there twice, or
is markup, is all that it knows.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

BATCH_CALLS = 50_000
"""Calls whose chunks are held at once."""
COMPACTED_CHUNKS = 4_000_000
"""Partial sums by chunk that are held before they are added up."""
MOST_CHUNKS = 20_000_000
"""Different chunks among which near ones are looked for: 1 GB."""

GROUP = ("group_number", "time_number", "caller")
OF_CALL = ("group_key", "call_no", "size", "other_tokens", "held")
SHARED = (*GROUP, "context_tokens", "repeated_tokens", "near_repeated_tokens")
_LISTS = (
    "chunk_hashes",
    "chunk_signatures",
    "chunk_begins",
    "chunk_tokens",
    "chunk_markup_tokens",
    "chunk_is_result",
)
_SIGNATURE_BYTES = 8


@dataclass(slots=True)
class ChunkSets:
    """The chunks of all prompts, taken batch by batch; a batch has the rows of `prompt_chunks`.

    `is_compared` says whether context is looked for in other calls, `is_context_only` that results
    of tools, which are history, cannot be left out.
    """

    is_compared: bool = True
    is_context_only: bool = False
    removable: list[pl.DataFrame] = field(default_factory=list)
    _groups: list[pl.DataFrame] = field(default_factory=list)
    _partial: list[pl.DataFrame] = field(default_factory=list)
    _partial_rows: int = 0

    def take(self, batch: pl.DataFrame) -> None:
        """Add the calls of `batch`."""
        keyed = batch.with_columns(group_key=pl.struct(GROUP).hash())
        chunks = _taken_apart(keyed)
        is_context = ~pl.col("chunk_is_result")
        of_calls = chunks.filter(is_context) if self.is_context_only else chunks
        self.removable.append(removable_tokens(of_calls))
        if self.is_compared:
            self._groups.append(keyed.select("group_key", *GROUP).unique("group_key"))
            self._add(_sums(chunks.filter(pl.col("is_first") & is_context)))

    def removable_chunks(self) -> pl.DataFrame:
        """`call_no`, `saved_tokens` and `prefill_ratio` of the calls that could leave some out."""
        return pl.concat(self.removable) if self.removable else removable_tokens(_no_chunks())

    def shared_chunks(self) -> pl.DataFrame:
        """By group the tokens of context, and those in chunks that other calls of it hold too.

        A chunk counts once a call. `repeated_tokens` are those of all calls but one with the very
        chunk, `near_repeated_tokens` those of chunks that are nearly another of the group, None
        where there are too many to look.
        """
        if not self._groups:
            return _shared(_sums(_no_chunks())).join(_no_chunks(), on="group_key").select(SHARED)
        self._compact()
        groups = pl.concat(self._groups).unique("group_key")
        return _shared(self._partial[0]).join(groups, on="group_key").select(SHARED)

    def _add(self, sums: pl.DataFrame) -> None:
        self._partial.append(sums)
        self._partial_rows += sums.height
        if self._partial_rows > COMPACTED_CHUNKS:
            self._compact()
            self._partial_rows = 0

    def _compact(self) -> None:
        if len(self._partial) > 1:
            self._partial = [
                pl.concat(self._partial)
                .group_by("chunk_key")
                .agg(
                    pl.col("group_key", "chunk_hash").first(),
                    pl.col("tokens").sum(),
                    pl.col("most_tokens").max(),
                    pl.col("signature").min(),
                )
            ]


def _taken_apart(batch: pl.DataFrame) -> pl.DataFrame:
    """A row a chunk, in the order of the prompt; `is_first` where the call has it first there."""
    chunks = batch.select(*OF_CALL, *_LISTS).explode(_LISTS)
    key = pl.col("call_no").hash() ^ _bits("chunk_hashes")
    return chunks.with_columns(is_first=key.is_first_distinct())


def _bits(column: str) -> pl.Expr:
    """The 64 bits of a whole number, as an unsigned one."""
    return pl.col(column).cast(pl.Int64).reinterpret(signed=False)


def removable_tokens(chunks: pl.DataFrame) -> pl.DataFrame:
    """By call the tokens of duplicates and markup that no cache held, and their share of prefill.

    Of a chunk that a cache held in part, the markup counts in proportion, rounded down.
    """
    past_held = pl.col("chunk_begins") + pl.col("chunk_tokens") + pl.col("other_tokens")
    uncached = (past_held - pl.col("held")).clip(0, pl.col("chunk_tokens"))
    markup = pl.col("chunk_markup_tokens") * uncached // pl.col("chunk_tokens")
    saved = pl.when("is_first").then(markup).otherwise(uncached)
    of_call = chunks.group_by("call_no", maintain_order=True).agg(
        saved_tokens=saved.sum(), read_tokens=(pl.col("size") - pl.col("held")).first()
    )
    ratio = (pl.col("saved_tokens") / pl.col("read_tokens")).clip(0.0, 1.0)
    return of_call.filter(pl.col("saved_tokens") > 0).select(
        pl.col("call_no").cast(pl.Int64),
        pl.col("saved_tokens").cast(pl.Int64),
        prefill_ratio=ratio,
    )


def _sums(chunks: pl.DataFrame) -> pl.DataFrame:
    """By group and chunk the tokens over all calls, and of the longest one."""
    key = pl.col("group_key") ^ _bits("chunk_hashes").hash()
    return chunks.group_by(chunk_key=key).agg(
        pl.col("group_key").first(),
        chunk_hash=pl.col("chunk_hashes").first(),
        tokens=pl.col("chunk_tokens").sum(),
        most_tokens=pl.col("chunk_tokens").max(),
        signature=pl.col("chunk_signatures").min(),
    )


def _shared(sums: pl.DataFrame) -> pl.DataFrame:
    ordered = sums.sort("chunk_hash")
    is_looked_for = ordered.height <= MOST_CHUNKS
    near = _near_others(ordered) if is_looked_for else pl.lit(None, pl.Boolean)
    return (
        ordered.with_columns(is_near=near)
        .group_by("group_key")
        .agg(
            context_tokens=pl.col("tokens").sum(),
            repeated_tokens=(pl.col("tokens") - pl.col("most_tokens")).sum(),
            near_repeated_tokens=pl.when(pl.col("is_near").count() > 0).then(
                pl.col("most_tokens").filter("is_near").sum()
            ),
        )
    )


def _near_others(ordered: pl.DataFrame) -> pl.Series:
    """Whether each chunk nearly is one before it in its group.

    Seven of eight bytes agree where the signatures agree without one of them: eight groupings.
    """
    near = np.zeros(ordered.height, dtype=bool)
    for at in range(_SIGNATURE_BYTES):
        others = _bits("signature") & pl.lit((2**64 - 1) ^ (0xFF << 8 * at), pl.UInt64)
        keys = ordered.select(others.hash() ^ pl.col("group_key")).to_series().to_numpy()
        near |= _came_before(keys)
    return pl.Series(near)


def _came_before(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Whether each key stands before itself too; few do, and sorting finds which."""
    in_order = np.sort(keys)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    found = np.zeros(len(keys), dtype=bool)
    if len(repeated):
        at = np.minimum(np.searchsorted(repeated, keys), len(repeated) - 1)
        (places,) = np.nonzero(repeated[at] == keys)
        _, first = np.unique(keys[places], return_index=True)
        found[places] = True
        found[places[first]] = False
    return found


def _no_chunks() -> pl.DataFrame:
    """A frame without a row in the columns that a batch has when it is taken apart."""
    whole = dict.fromkeys((*OF_CALL, *GROUP, *_LISTS), pl.Int64)
    other = {
        "group_key": pl.UInt64,
        "caller": pl.String,
        "chunk_is_result": pl.Boolean,
        "is_first": pl.Boolean,
    }
    return pl.DataFrame(schema={**whole, **other})
