"""Sums over the time of lanes: the distribution of running calls and KV tokens, and who waited.

Owns the distributions. Running calls are exact. KV tokens are in buckets 2 % wide, into which a
line between two instants is spread as it passes through them, so a percentile is right within 2 %.
Refuses to join lanes of different pools.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.capacity.lanes import Lane, Lanes, by_lane
from analysis.capacity.pieces import Pieces
from analysis.capacity.starts import Starts, starts_of
from analysis.capacity.sweep import Counts, Floats, LaneCalls, Segments, segments_of
from analysis.sql import question_named, run_question
from ingest.ledger import Connection

FULL_RATIO = 0.9
"""KV memory of which more than this share is in use is full: a call may not find room in the rest.

An engine keeps some blocks free, and a call takes its whole prompt at once.
"""

BUCKET_RATIO = 1.02
EDGES: Floats = np.concatenate(([0.0], BUCKET_RATIO ** np.arange(1_500)))
"""Bounds of the buckets of KV tokens."""

LEAST_LINE_TOKENS = 0.5
"""A segment in which KV tokens change by less is taken for flat."""

INTEGRALS = (
    "residence_s",
    "busy_s",
    "kv_token_s",
    "untold_s",
    "unseen_s",
    "waiting_s",
    "queued_s",
    "queued_running_s",
    "queued_full_s",
    "queued_growing_s",
    "queued_free_running_s",
)
STARTS = ("start_count", "joined_count")
SUMS = (*INTEGRALS, *STARTS)
MAXIMA = ("most_running", "most_kv_tokens")
KV_SCHEMA = dict.fromkeys(("lane_number", "piece", "bucket"), pl.Int64) | {"seconds": pl.Float64}


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTime:
    """Frames by `lane_number` and `piece`.

    `sums` has `SUMS` in s (calls times s, tokens times s), starts of calls that were observed, and
    `MAXIMA`, of one replica; `queued_full_s`, `queued_growing_s` and `queued_free_running_s` are
    NaN where the size of the memory is not known.
    `running` has `level`, calls on a replica, with its `seconds` of replicas; `kv` has `bucket` of
    `EDGES` likewise.
    """

    sums: pl.DataFrame
    running: pl.DataFrame
    kv: pl.DataFrame


def over_time(connection: Connection, lanes: Lanes, pieces: Mapping[str, Pieces]) -> OverTime:
    """The sums of `lanes`, one stretch after another; `pieces` has how each pool's time is cut."""
    question = question_named("concurrency")
    parts: list[OverTime] = []
    for since, until in lanes.stretches():
        rows = run_question(connection, question, since=since, until=until, **lanes.values())
        for number, columns in by_lane(rows):
            lane = lanes.lanes[number]
            parts.append(_of_lane(number, lane, columns, pieces[lane.pool], (since, until)))
    return OverTime(
        sums=_added([part.sums for part in parts], ["lane_number", "piece"]),
        running=_added([part.running for part in parts], ["lane_number", "piece", "level"]),
        kv=_added([part.kv for part in parts], ["lane_number", "piece", "bucket"]),
    )


def _added(frames: Sequence[pl.DataFrame], on: Sequence[str]) -> pl.DataFrame:
    """The rows of `frames` that agree in `on`, added up; of maxima the largest."""
    if not frames:
        return pl.DataFrame(schema=dict.fromkeys(on, pl.Int64))
    rows = pl.concat(frames)
    rest = [name for name in rows.columns if name not in on]
    return rows.group_by(on).agg(
        pl.col(name).max() if name in MAXIMA else pl.col(name).sum() for name in rest
    )


def lane_calls(columns: Mapping[str, npt.NDArray[np.float64]]) -> LaneCalls:
    """The arrays of one lane, as the question of concurrency tells them."""
    started_at = columns["started_at"].astype(np.int64)
    waits_at = columns["waits_at"]
    observed = ~np.isnan(waits_at.astype(np.float64))
    waits = started_at.copy()
    waits[observed] = waits_at[observed].astype(np.int64)
    return LaneCalls(
        waits_at=waits,
        is_seen=observed,
        started_at=started_at,
        first_token_at=columns["first_token_at"].astype(np.int64),
        ended_at=columns["ended_at"].astype(np.int64),
        input_tokens=columns["input_tokens"].astype(np.float64),
        output_tokens=columns["output_tokens"].astype(np.float64),
    )


def _of_lane(
    number: int,
    lane: Lane,
    columns: Mapping[str, npt.NDArray[np.float64]],
    pieces: Pieces,
    stretch: tuple[int, int],
) -> OverTime:
    cuts, first = pieces.inside(*stretch)
    calls = lane_calls(columns)
    found = segments_of(calls, cuts)
    piece = found.piece + first
    replicas = np.ones(len(piece), dtype=np.int64)
    if lane.replica is None:
        replicas = np.minimum(np.maximum(found.running, 1), pieces.replicas[piece])
    room = pieces.room_of(lane)[piece]
    is_one = lane.replica is not None or pieces.replicas.max() == 1
    starts = starts_of(calls, cuts, first) if is_one else Starts.none()
    return OverTime(
        sums=_sums(number, piece, found, starts, replicas, room),
        running=_running(number, piece, found, replicas),
        kv=_kv(number, piece, found, replicas),
    )


def _sums(  # noqa: PLR0917 - what one lane has
    number: int, piece: Counts, found: Segments, starts: Starts, replicas: Counts, room: Floats
) -> pl.DataFrame:
    """One row a piece: `SUMS` and `MAXIMA`."""
    last = int(piece.max(initial=-1)) + 1
    sums: dict[str, Floats] = {
        name: np.bincount(piece, weights=weight, minlength=last).astype(np.float64)
        for name, weight in zip(INTEGRALS, _integrands(found, replicas, room), strict=True)
    }
    for name, begun in zip(STARTS, (starts.piece, starts.joined_piece), strict=True):
        sums[name] = np.bincount(begun[begun < last], minlength=last).astype(np.float64)
    kv_tokens = np.maximum(found.kv_begin, found.kv_end) / replicas
    for name, level in zip(MAXIMA, (found.running / replicas, kv_tokens), strict=True):
        sums[name] = np.zeros(last)
        np.maximum.at(sums[name], piece, level)
    told = np.unique(piece)
    return pl.DataFrame(
        {
            "lane_number": np.full(len(told), number),
            "piece": told,
            **{name: values[told] for name, values in sums.items()},
        }
    )


def _integrands(found: Segments, replicas: Counts, room: Floats) -> tuple[Floats, ...]:
    """What each segment adds to each of `INTEGRALS`."""
    seconds, waiting = found.seconds, found.waiting
    begin, end = found.kv_begin / replicas, found.kv_end / replicas
    queued = np.where(waiting > 0, seconds, 0.0)
    full = np.where(waiting > 0, seconds * _share_above(begin, end, room * FULL_RATIO), 0.0)
    waiting_need = found.waiting_need / np.maximum(waiting, 1)
    outgrown = found.running_need / replicas + waiting_need > room
    growing = np.where(np.isnan(full), np.nan, np.where(outgrown, queued - full, 0.0))
    return (
        found.running * seconds,
        np.where(found.running > 0, replicas * seconds, 0.0),
        (found.kv_begin + found.kv_end) / 2 * seconds,
        found.untold * seconds,
        found.unseen * seconds,
        waiting * seconds,
        queued,
        found.running / replicas * queued,
        full,
        growing,
        found.running / replicas * (queued - full - growing).clip(min=0),
    )


def _share_above(begin: Floats, end: Floats, level: Floats) -> Floats:
    """The share of each line from `begin` to `end` that lies at `level` or above."""
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    slope = (high - level) / np.maximum(high - low, LEAST_LINE_TOKENS)
    flat = np.where(np.isnan(level), np.nan, (low >= level).astype(float))
    return np.where(high - low < LEAST_LINE_TOKENS, flat, np.clip(slope, 0, 1))


def _running(number: int, piece: Counts, found: Segments, replicas: Counts) -> pl.DataFrame:
    """Seconds of replicas by the calls on each."""
    is_busy = found.running > 0
    return (
        pl.DataFrame(
            {
                "piece": piece[is_busy],
                "level": (found.running / replicas)[is_busy],
                "seconds": (found.seconds * replicas)[is_busy],
            }
        )
        .group_by("piece", "level")
        .agg(pl.col("seconds").sum())
        .select(pl.lit(number).alias("lane_number").cast(pl.Int64), "piece", "level", "seconds")
    )


def _kv(number: int, piece: Counts, found: Segments, replicas: Counts) -> pl.DataFrame:
    """Seconds of replicas by the bucket of the KV tokens on each.

    A line passes a bucket in the share of its time that the bucket has of its way. So the time
    below an edge is a sum over the lines that begin below it, less one over those that end below.
    """
    is_busy = found.running > 0
    piece, seconds = piece[is_busy], (found.seconds * replicas)[is_busy]
    begin, end = (found.kv_begin / replicas)[is_busy], (found.kv_end / replicas)[is_busy]
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    if not len(piece):
        return pl.DataFrame(schema=KV_SCHEMA)
    lows, highs = _bucket(low), _bucket(high)
    first, lowest = int(piece.min()), int(lows.min())
    edges = EDGES[lowest : int(highs.max()) + 2]
    shape = (int(piece.max()) - first + 1, len(edges))

    def sums(bucket: Counts, weights: Floats) -> Floats:
        cell = (piece - first) * len(edges) + bucket - lowest
        found = np.bincount(cell, weights=weights, minlength=shape[0] * shape[1])
        return found.astype(np.float64).reshape(shape)

    is_line = high - low >= LEAST_LINE_TOKENS
    pace = np.where(is_line, seconds / np.maximum(high - low, LEAST_LINE_TOKENS), 0.0)
    slope = _before(sums(lows, pace) - sums(highs, pace))
    offset = _before(sums(lows, pace * low) - sums(highs, pace * high))
    below = edges * slope - offset
    mass = np.diff(below, axis=1, append=below[:, -1:])
    mass += sums(lows, np.where(is_line, 0.0, seconds))
    row, bucket = np.nonzero(mass > 1e-12)
    return pl.DataFrame(
        {
            "lane_number": np.full(len(row), number),
            "piece": row + first,
            "bucket": bucket + lowest,
            "seconds": mass[row, bucket],
        }
    )


def _bucket(tokens: Floats) -> Counts:
    """The number of the bucket in which each of `tokens` lies."""
    found = np.log(np.maximum(tokens, 1)) / np.log(BUCKET_RATIO) + 1e-9
    number: Counts = np.where(tokens < 1, 0, found.astype(np.int64) + 1)
    return np.minimum(number, len(EDGES) - 2)


def _before(cells: Floats) -> Floats:
    """For each bucket the sum of those before it."""
    total: Floats = np.cumsum(cells, axis=1) - cells
    return total


def level_at(rows: pl.DataFrame, by: Iterable[str], ratio: float) -> pl.DataFrame:
    """By group of `by` the least `level` below or at which `ratio` of the seconds are."""
    on = list(by)
    summed = rows.group_by(*on, "level").agg(pl.col("seconds").sum()).sort("level")
    return _reached(summed, on, ratio).group_by(on).agg(pl.col("level").first())


def tokens_at(rows: pl.DataFrame, by: Iterable[str], ratio: float) -> pl.DataFrame:
    """By group of `by` the KV `tokens` that are not exceeded in `ratio` of the seconds."""
    on = list(by)
    summed = rows.group_by(*on, "bucket").agg(pl.col("seconds").sum()).sort("bucket")
    low = pl.lit(pl.Series(EDGES)).gather(pl.col("bucket"))
    high = pl.lit(pl.Series(EDGES)).gather(pl.col("bucket") + 1)
    part = (pl.col("wanted") - (pl.col("reached") - pl.col("seconds"))) / pl.col("seconds")
    return (
        _reached(summed, on, ratio)
        .group_by(on, maintain_order=True)
        .first()
        .with_columns(tokens=low + (high - low) * part)
        .select(*on, "tokens")
    )


def _reached(summed: pl.DataFrame, on: Sequence[str], ratio: float) -> pl.DataFrame:
    """The rows from which on `ratio` of the seconds of their group are reached."""
    return summed.with_columns(
        reached=pl.col("seconds").cum_sum().over(on),
        wanted=pl.col("seconds").sum().over(on) * ratio,
    ).filter(pl.col("reached") >= pl.col("wanted") * (1 - 1e-12))
