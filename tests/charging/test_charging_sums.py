"""What was charged against sums by plain SQL, and against the time that GPUs were busy."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.config import Configuration, Pool

S = 1_000_000_000
MIDNIGHT = 20_701 * 86_400 * S
PLAIN_SQL = (Path(__file__).parent / "charges_by_plain_sql.sql").read_text("utf-8")
CONFIGURATION = Configuration(
    pools=(
        Pool(name="a", models=("m",), gpus_per_replica=2, replicas=3),
        Pool(
            name="a",
            models=("m",),
            gpus_per_replica=1,
            replicas=2,
            effective_from=datetime(2026, 9, 5, 0, 20, 0, 500_000, tzinfo=UTC),
        ),
    )
)


@pytest.fixture
def busy_night(calls: Any, call: Any) -> Any:
    """300 calls over three hours around midnight, on two known replicas and unknown ones.

    The pool changes from three replicas to two, so unknown calls run alone, then beside the known.
    """
    random = np.random.default_rng(7)
    begin = MIDNIGHT - 5_400 * S + random.integers(0, 10_800 * S, 300)
    prefill = random.integers(0, 5 * S, 300)
    decode = (random.lognormal(3.5, 1.2, 300) * S).astype(np.int64)
    replicas = [("r0", "r1", None)[i] for i in random.integers(0, 3, 300)]
    choices = [(None, 1, 3)[i] for i in random.integers(0, 3, 300)]
    made = []
    for i in range(300):
        started_at, first = int(begin[i]), int(begin[i] + prefill[i])
        times = {"first_token_at": first, "ended_at": first + int(decode[i])}
        where = {"replica": replicas[i], "n_choices": choices[i]}
        made.append(call(call_id=f"c{i}", started_at=started_at, **times, **where))
    calls.deliver(*made)
    calls.charge(CONFIGURATION)
    return calls


def test_charges_are_those_of_plain_sql(busy_night: Any) -> None:
    expected = {name: seconds for name, *seconds in busy_night.rows(PLAIN_SQL)}
    charged = busy_night.gpu_seconds()
    assert charged.keys() == expected.keys()
    for name, seconds in charged.items():
        assert seconds == pytest.approx(expected[name], rel=1e-9, abs=1e-9)


def test_the_parts_of_a_call_add_up_to_its_time_in_service(busy_night: Any) -> None:
    differences = busy_night.rows(
        """
        select
            sum(h.prefill_s) - any_value(r.first_token_at - r.started_at) / 1e9,
            sum(h.decode_s) - any_value(r.ended_at - r.first_token_at) / 1e9
        from charges as h inner join call_rows as r on h.call_no = r.call_no
        group by h.call_no
        """
    )
    assert len(differences) == 300
    assert max(abs(d) for pair in differences for d in pair) < 1e-9


def test_a_pool_is_charged_for_the_time_its_replicas_were_busy_once(busy_night: Any) -> None:
    [(charged,)] = busy_night.rows(
        "select sum(prefill_gpu_seconds + decode_gpu_seconds) from charges"
    )
    calls = busy_night.rows("select replica, started_at, ended_at from call_rows")
    change = MIDNIGHT + 1_200 * S + S // 2
    busy = 0
    cuts = sorted({change, *(at for _, *times in calls for at in times)})
    for left, right in itertools.pairwise(cuts):
        on = [replica for replica, start, end in calls if start <= left and right <= end]
        known, gpus, replicas = len({*on} - {None}), *((2, 3) if right <= change else (1, 2))
        busy += (right - left) * gpus * min(known + on.count(None), replicas)
    assert charged == pytest.approx(busy / S, rel=1e-12)


def test_every_piece_lies_in_the_rate_and_partition_it_names(busy_night: Any) -> None:
    found = busy_night.rows(
        """
        select count(*)
        from charges as h
        inner join pools as p on h.rate_id = p.rate_id
        inner join charge_partitions as t on h.partition_id = t.partition_id
        where
            t.day <> h.quarter // 96
            or t.pool <> p.pool
            or (h.quarter + 1) * 900000000000 <= p.effective_from
            or h.quarter * 900000000000 >= p.effective_to
        """
    )
    assert found == [(0,)]
