"""Chunks of many prompts at once: what each call could leave out.

Owns how chunks are taken apart. Refuses to say whether a chunk is needed: that one is there twice,
or is markup, is all that it knows.
"""

from dataclasses import dataclass, field

import polars as pl

from analysis.groups import NUMBERS
from analysis.shared_chunks import SharedChunks, bits

BATCH_CALLS = 50_000
"""Calls whose chunks are held at once."""

OF_CALL = ("group_key", "call_no", "size", "held", "told_held")
LISTS = (
    "chunk_hashes",
    "chunk_signatures",
    "chunk_begins",
    "chunk_tokens",
    "chunk_markup_tokens",
    "chunk_is_result",
)
REMOVABLE = {"call_no": pl.Int64, "saved_tokens": pl.Int64, "prefill_ratio": pl.Float64}


@dataclass(slots=True)
class ChunkSets:
    """The chunks of all prompts, taken batch by batch; a batch has the rows of `prompt_chunks`.

    `shared` compares the context of the calls, None where that is not asked; `is_context_only`
    says that results of tools, which are history, cannot be left out.
    """

    shared: SharedChunks | None = None
    is_context_only: bool = False
    removable: list[pl.DataFrame] = field(default_factory=list)

    def take(self, batch: pl.DataFrame) -> None:
        """Add the calls of `batch`."""
        keyed = batch.with_columns(group_key=pl.struct(NUMBERS).hash())
        chunks = _taken_apart(keyed)
        is_context = ~pl.col("chunk_is_result")
        of_calls = chunks.filter(is_context) if self.is_context_only else chunks
        self.removable.append(removable_tokens(of_calls))
        if self.shared is not None:
            self.shared.take(keyed, chunks.filter(pl.col("is_first") & is_context))

    def removable_chunks(self) -> pl.DataFrame:
        """`call_no`, `saved_tokens` and `prefill_ratio` of the calls that could leave some out."""
        return pl.concat([pl.DataFrame(schema=REMOVABLE), *self.removable])


def removable_tokens(chunks: pl.DataFrame) -> pl.DataFrame:
    """By call the tokens of duplicates and markup that no cache held, and their share of prefill.

    Of a chunk that a cache held in part, the markup counts in proportion, rounded down.
    """
    past_held = pl.col("chunk_begins") + pl.col("chunk_tokens") - pl.col("told_held")
    uncached = past_held.clip(0, pl.col("chunk_tokens"))
    markup = pl.col("chunk_markup_tokens") * uncached // pl.col("chunk_tokens")
    saved = pl.when("is_first").then(markup).otherwise(uncached)
    is_any = ~pl.col("is_first") | (pl.col("chunk_markup_tokens") > 0)
    of_call = (
        chunks.filter(is_any)
        .group_by("call_no", maintain_order=True)
        .agg(saved_tokens=saved.sum(), read_tokens=(pl.col("size") - pl.col("held")).first())
        .filter(pl.col("saved_tokens") > 0)
    )
    ratio = (pl.col("saved_tokens") / pl.col("read_tokens")).clip(0.0, 1.0)
    return of_call.with_columns(prefill_ratio=ratio).select(
        pl.col(name).cast(kind) for name, kind in REMOVABLE.items()
    )


def _taken_apart(batch: pl.DataFrame) -> pl.DataFrame:
    """A row a chunk, in the order of the prompt; `is_first` where the call has it first there."""
    chunks = batch.select(*OF_CALL, *LISTS).explode(LISTS)
    key = pl.col("call_no").hash() ^ bits("chunk_hashes")
    return chunks.with_columns(is_first=key.is_first_distinct())
