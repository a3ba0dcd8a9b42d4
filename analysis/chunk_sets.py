"""Chunks of many prompts at once: what each call could leave out, and what other calls hold too.

Owns the set work over chunks. Refuses to say whether a chunk is needed: that one is there twice, or
is markup, is all that it knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

BATCH_CALLS = 50_000
"""Calls whose chunks are held at once."""
COMPACTED_CHUNKS = 4_000_000
"""Partial sums by chunk that are held before they are added up."""
MOST_CHUNKS = 20_000_000
"""Different chunks among which near ones are looked for: 1 GB."""

GROUP = ("group_number", "time_number", "caller")
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
    _partial: list[pl.DataFrame] = field(default_factory=list)
    _partial_rows: int = 0

    def take(self, batch: pl.DataFrame) -> None:
        """Add the calls of `batch`."""
        chunks = batch.explode(_LISTS).with_columns(
            is_first=pl.struct("call_no", "chunk_hashes").is_first_distinct()
        )
        is_context = ~pl.col("chunk_is_result")
        of_calls = chunks.filter(is_context) if self.is_context_only else chunks
        self.removable.append(removable_tokens(of_calls))
        if self.is_compared:
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
        self._compact()
        return _shared(self._partial[0] if self._partial else _sums(_no_chunks()))

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
                .group_by(*GROUP, "chunk_hash")
                .agg(pl.col("tokens").sum(), pl.col("most_tokens").max(), pl.col("signature").min())
            ]


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
    return chunks.group_by(*GROUP, chunk_hash="chunk_hashes").agg(
        tokens=pl.col("chunk_tokens").sum(),
        most_tokens=pl.col("chunk_tokens").max(),
        signature=pl.col("chunk_signatures").min(),
    )


def _shared(sums: pl.DataFrame) -> pl.DataFrame:
    near = _near_others(sums) if sums.height <= MOST_CHUNKS else pl.lit(None, pl.Boolean)
    return (
        sums.sort("chunk_hash")
        .with_columns(is_near=near)
        .group_by(GROUP)
        .agg(
            context_tokens=pl.col("tokens").sum(),
            repeated_tokens=(pl.col("tokens") - pl.col("most_tokens")).sum(),
            near_repeated_tokens=pl.when(pl.col("is_near").count() > 0).then(
                pl.col("most_tokens").filter("is_near").sum()
            ),
        )
    )


def _near_others(sums: pl.DataFrame) -> pl.Series:
    """Whether each chunk, in the order of its hash, nearly is one before it in its group.

    Seven of eight bytes agree where the signatures agree without one of them: eight groupings.
    """
    ordered = sums.sort("chunk_hash").select(
        pl.struct(GROUP).rank("dense").alias("group"),
        pl.col("signature").cast(pl.Int64).reinterpret(signed=False),
    )
    near = pl.Series([False]).new_from_index(0, ordered.height)
    for at in range(_SIGNATURE_BYTES):
        mask = pl.lit((2**64 - 1) ^ (0xFF << 8 * at), pl.UInt64)
        key = pl.struct("group", pl.col("signature") & mask)
        near |= ordered.select(~key.is_first_distinct()).to_series()
    return near


def _no_chunks() -> pl.DataFrame:
    """A frame without a row in the columns that a batch has when it is taken apart."""
    names: Sequence[str] = ("group_number", "time_number", "call_no", "size", "other_tokens")
    whole = dict.fromkeys((*names, "held", *_LISTS[:-1]), pl.Int64)
    flags = dict.fromkeys(("chunk_is_result", "is_first"), pl.Boolean)
    return pl.DataFrame(schema={**whole, "caller": pl.String, **flags})
