"""How fast calls decode, and what goes on beside them meanwhile.

Owns the two loads beside a decode: the share of its time in which another call of the replica is in
prefill, and how many others decode on the mean. Refuses a lane of several replicas: nobody knows
which calls are beside each other there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.capacity.lanes import Lanes, by_lane
from analysis.capacity.pieces import Pieces
from analysis.capacity.sweep import Floats, Instants
from analysis.sql import question_named, run_question
from analysis.window import QUARTER_NS
from ingest.ledger import Connection

PREFILL_STEPS = np.array([1, -1, 0], dtype=np.int8)
DECODE_STEPS = np.array([0, 1, -1], dtype=np.int8)
"""By how many the start, first token and end of a call change the calls in each phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Parallel arrays of calls on one replica; `decode_tokens` is NaN where no pace was observed.

    `decode_tokens` are the tokens of a choice after its first, `context_tokens` what a call holds
    on the mean: its prompt and half of its answer.
    """

    started_at: Instants
    first_token_at: Instants
    ended_at: Instants
    decode_tokens: Floats
    context_tokens: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Paces:
    """Of each measured call: its pace in tokens a second, and what was beside its decode.

    `prefill_share` is of its seconds, 0 to 1; `decoding` the mean number of other decodes,
    `context_tokens` what the other calls of the replica hold meanwhile;
    `quarter` the quarter-hour since 1970 of its first token.
    """

    tokens_per_s: Floats
    decode_s: Floats
    prefill_share: Floats
    decoding: Floats
    context_tokens: Floats
    quarter: Instants

    def frame(self) -> pl.DataFrame:
        """A row a call."""
        return pl.DataFrame({name: getattr(self, name) for name in self.__dataclass_fields__})


def paces_of(calls: Phases, since: int, until: int) -> Paces:
    """The measured calls whose decode begins in the stretch, as far as the stretch shows it."""
    clipped = [
        np.clip(at, since, until) for at in (calls.started_at, calls.first_token_at, calls.ended_at)
    ]
    instants = np.concatenate(clipped)
    order = np.argsort(instants, kind="stable")
    lasts = np.diff(instants[order])
    kind = order // max(len(calls.started_at), 1)

    def passed(level: npt.NDArray[Any]) -> list[Floats]:
        """What a level after each instant adds up to until the start, first token and end."""
        found = np.empty(len(instants))
        found[order[:1]] = 0
        found[order[1:]] = np.cumsum(level[:-1] * lasts)
        return np.split(found, 3)

    prefill = passed(np.cumsum(PREFILL_STEPS[kind], dtype=np.int32) > 0)
    decode = passed(np.cumsum(DECODE_STEPS[kind], dtype=np.int32))
    tokens = np.concatenate((calls.context_tokens, np.zeros(len(kind) // 3), -calls.context_tokens))
    held = passed(np.cumsum(tokens[order]))
    seconds = clipped[2] - clipped[1]
    begins = (calls.first_token_at >= since) & (calls.first_token_at < until)
    kept = begins & (seconds > 0) & ~np.isnan(calls.decode_tokens)
    whole_s = (calls.ended_at - calls.first_token_at)[kept] / 1e9
    return Paces(
        tokens_per_s=calls.decode_tokens[kept] / whole_s,
        decode_s=whole_s,
        prefill_share=((prefill[2] - prefill[1])[kept] / seconds[kept]).clip(0, 1),
        decoding=((decode[2] - decode[1])[kept] / seconds[kept] - 1).clip(0),
        context_tokens=(
            (held[2] - held[1])[kept] / seconds[kept] - calls.context_tokens[kept]
        ).clip(0),
        quarter=calls.first_token_at[kept] // QUARTER_NS,
    )


def paces_by_lane(
    connection: Connection, lanes: Lanes, pieces: Mapping[str, Pieces]
) -> Iterator[tuple[int, pl.DataFrame, int]]:
    """Lane number, the paces of its measured calls, and how many calls were not measured.

    Lanes come once for each stretch that has calls on them.
    """
    question = question_named("interference")
    for since, until in lanes.stretches():
        rows = run_question(connection, question, since=since, until=until, **lanes.values())
        for number, columns in by_lane(rows):
            calls = _phases(columns)
            begins = (calls.first_token_at >= since) & (calls.first_token_at < until)
            lane = lanes.lanes[number]
            is_one = lane.replica is not None or pieces[lane.pool].replicas.max() == 1
            found = paces_of(calls, since, until).frame() if is_one else pl.DataFrame()
            yield number, found, int(begins.sum()) - found.height


def _phases(columns: Mapping[str, npt.NDArray[Any]]) -> Phases:
    return Phases(
        started_at=columns["started_at"].astype(np.int64),
        first_token_at=columns["first_token_at"].astype(np.int64),
        ended_at=columns["ended_at"].astype(np.int64),
        decode_tokens=columns["decode_tokens"].astype(np.float64),
        context_tokens=columns["context_tokens"].astype(np.float64),
    )
