"""Context that several calls of a group hold: the very chunk, and chunks that nearly are one.

Owns the set of different chunks, which is bounded: beyond, one chunk in so many stands for all.
Refuses to look for near chunks in a sample, in which few pairs are whole.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.groups import NUMBERS

MOST_CHUNKS = 2_000_000
"""Different chunks that are held; 40 bytes each, and again where they are added up."""

SHARED = ("context_tokens", "repeated_tokens", "near_repeated_tokens")
_SIGNATURE_BYTES = 8
_KNOWN = {
    "chunk_key": pl.UInt64,
    "group_key": pl.UInt64,
    "chunk_hash": pl.Int64,
    "signature": pl.Int64,
    "most_tokens": pl.Int64,
}


@dataclass(slots=True)
class SharedChunks:
    """The different chunks of all groups, one in `scale` of them; `most` are held at once."""

    most: int = MOST_CHUNKS
    scale: int = 1
    _totals: list[pl.DataFrame] = field(default_factory=list)
    _known: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_KNOWN))
    _waiting: list[pl.DataFrame] = field(default_factory=list)

    def take(self, calls: pl.DataFrame, chunks: pl.DataFrame) -> None:
        """Add `chunks`, of which no call has one twice; `calls` say which group has which key."""
        labels = calls.select("group_key", *NUMBERS).unique("group_key")
        totals = chunks.group_by("group_key").agg(
            context_tokens=pl.col("chunk_tokens").cast(pl.Int64).sum()
        )
        self._totals.append(totals.join(labels, on="group_key"))
        found = chunks.select(
            chunk_key=pl.col("group_key") ^ bits("chunk_hashes").hash(),
            group_key="group_key",
            chunk_hash=pl.col("chunk_hashes").cast(pl.Int64),
            signature=pl.col("chunk_signatures").cast(pl.Int64),
            most_tokens=pl.col("chunk_tokens").cast(pl.Int64),
        )
        self._waiting.append(_different(self._sampled(found)))
        if sum(frame.height for frame in self._waiting) > self.most // 2:
            self._settle()

    def tokens(self) -> pl.DataFrame:
        """By group the tokens of context, and those in chunks that other calls of it hold too.

        A chunk counts once a call. `repeated_tokens` are those of all calls but one with the very
        chunk, an estimate where `scale` is above 1; `near_repeated_tokens` those of chunks that
        nearly are another of the group, None there.
        """
        self._settle()
        if not self._totals:
            columns = dict.fromkeys((*NUMBERS, *SHARED), pl.Int64)
            return pl.DataFrame(schema=columns | {"caller": pl.String})
        totals = pl.concat(self._totals).group_by("group_key").agg(
            pl.col(NUMBERS).first(), pl.col("context_tokens").sum()
        )  # fmt: skip
        ordered = self._known.sort("chunk_hash")
        near = _near_others(ordered) if self.scale == 1 else None
        known = ordered.with_columns(is_near=pl.lit(near, pl.Boolean) if near is None else near)
        firsts = known.group_by("group_key").agg(
            first_tokens=pl.col("most_tokens").sum() * self.scale,
            near_repeated_tokens=pl.when(pl.col("is_near").count() > 0).then(
                pl.col("most_tokens").filter("is_near").sum()
            ),
        )
        repeated = (pl.col("context_tokens") - pl.col("first_tokens").fill_null(0)).clip(0)
        return (
            totals.join(firsts, on="group_key", how="left")
            .with_columns(repeated_tokens=repeated)
            .select(*NUMBERS, *SHARED)
        )

    def _sampled(self, chunks: pl.DataFrame) -> pl.DataFrame:
        return chunks.filter(pl.col("chunk_key") % self.scale == 0) if self.scale > 1 else chunks

    def _settle(self) -> None:
        """Add what waits, and sample more thinly until it is few enough."""
        if self._waiting:
            self._known = _different(pl.concat([self._known, *self._waiting]))
            self._waiting = []
        while self._known.height > self.most:
            self.scale *= 2
            self._known = self._sampled(self._known)


def bits(column: str) -> pl.Expr:
    """The 64 bits of a whole number, as an unsigned one."""
    return pl.col(column).cast(pl.Int64).reinterpret(signed=False)


def _different(chunks: pl.DataFrame) -> pl.DataFrame:
    """Each chunk of a group once, whatever the order of the rows."""
    return chunks.group_by("chunk_key").agg(
        pl.col("group_key", "chunk_hash").first(),
        pl.col("signature").min(),
        pl.col("most_tokens").max(),
    )


def _near_others(ordered: pl.DataFrame) -> pl.Series:
    """Whether each chunk nearly is one before it in its group.

    Seven of eight bytes agree where the signatures agree without one of them: eight groupings.
    """
    near = np.zeros(ordered.height, dtype=bool)
    for at in range(_SIGNATURE_BYTES):
        others = bits("signature") & pl.lit((2**64 - 1) ^ (0xFF << 8 * at), pl.UInt64)
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
