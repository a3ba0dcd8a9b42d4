"""Samples in the ledger: one a series and instant, and what they say from one to the next."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.sql import question_named, run_question
from gpuledger.main import gpuledger
from ingest.config import Configuration
from ingest.ledger import Ledger, open_for_writing
from ingest.purge.purging import Purge, purge
from ingest.records import Batch, Reject, Sample
from ingest.rows import RowMaker
from ingest.stage import Stage
from ingest.store.deliveries import DeliveryCounts
from ingest.store.samples import sample_table

S = 10**9
TEXT = (
    "# scraped_at 2026-10-01T08:00:00Z\nvllm:num_requests_running 2\nvllm:prompt_tokens_total 9\n"
    "python_info 1\nvllm:broken{ 1\n"
)


def sample(at_s: float, value: float | None, **fields: Any) -> Sample:
    defaults: dict[str, Any] = {
        "engine": "vllm",
        "metric": "output_tokens",
        "kind": "counter",
        "name": "vllm:generation_tokens_total",
    }
    return Sample(at=int(at_s * S), value=value, **defaults | fields)


def take(ledger: Ledger, samples: Sequence[Sample], delivery_id: int = 1) -> DeliveryCounts:
    return take_batch(ledger, Batch(samples=samples), Configuration(), delivery_id)


def take_batch(
    ledger: Ledger, batch: Batch, configuration: Configuration, delivery_id: int = 1
) -> DeliveryCounts:
    rows = RowMaker(ledger.connection, configuration).rows(batch)
    stage = Stage(ledger.connection, delivery_id, configuration)
    stage.take(rows)
    return stage.settle()


def steps(ledger: Ledger) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(
        "select since / 1e9, until / 1e9, level, increase, is_reset from engine_steps "
        "order by until, since, increase"
    ).fetchall()


def stored(ledger: Ledger) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(
        "select s.digest, n.sampled_at, n.began_at, n.value from engine_samples as n "
        "join engine_series as s using (series_id) order by all"
    ).fetchall()


def test_a_sample_delivered_twice_is_one() -> None:
    with open_for_writing(None) as ledger:
        first = take(ledger, [sample(1, 5), sample(1, 5), sample(2, 7)])
        again = take(ledger, [sample(2, 7), sample(3, 9)], 2)
        assert first == DeliveryCounts(read=3, new=2, duplicate=1, rejected=0, conflict=0)
        assert (again.read, again.new, again.duplicate, again.conflict) == (2, 1, 1, 0)
        assert len(stored(ledger)) == 3


def test_of_two_values_of_one_instant_the_larger_is_kept_and_counted() -> None:
    with open_for_writing(None) as ledger:
        assert take(ledger, [sample(1, 5), sample(1, 6)]).conflict == 1
        assert take(ledger, [sample(1, None)], 2).conflict == 0
        assert take(ledger, [sample(1, 8)], 3).conflict == 1
        assert [row[3] for row in stored(ledger)] == [8]


def test_a_smaller_value_that_comes_later_is_counted_as_well() -> None:
    with open_for_writing(None) as ledger:
        take(ledger, [sample(1, 8)])
        assert take(ledger, [sample(1, 5)], 2).conflict == 1
        assert take(ledger, [sample(1, 5), sample(1, 8)], 3).conflict == 1
        assert take(ledger, [sample(1, 8, began_at=0)], 4).conflict == 0
        assert [row[2:] for row in stored(ledger)] == [(0, 8)]


def test_a_counter_that_fell_began_again_at_nothing() -> None:
    with open_for_writing(None) as ledger:
        take(ledger, [sample(n, v) for n, v in enumerate((1000, 1500, 200, 700))])
        assert [row[3] for row in steps(ledger)] == [500, 200, 500]
        assert [row[4] for row in steps(ledger)] == [False, True, False]


def test_a_counter_of_a_process_that_began_since_is_known_though_it_did_not_fall() -> None:
    with open_for_writing(None) as ledger:
        take(ledger, [sample(10, 100, began_at=0), sample(20, 300, began_at=15 * S)])
        assert steps(ledger) == [(10, 20, None, 300, True)]


def test_series_are_told_apart_before_they_are_summed() -> None:
    with open_for_writing(None) as ledger:
        take(
            ledger,
            [
                *(sample(n, v, labels={"engine": "0"}) for n, v in enumerate((100, 0, 50))),
                *(sample(n, v, labels={"engine": "1"}) for n, v in enumerate((0, 200, 250))),
            ],
        )
        assert sum(row[3] for row in steps(ledger)) == 50 + 250


def test_a_gauge_is_what_it_was_until_its_next_sample_and_unknown_after_nan() -> None:
    with open_for_writing(None) as ledger:
        gauge = {"metric": "running_calls", "kind": "gauge", "name": "vllm:num_requests_running"}
        take(ledger, [sample(n, v, **gauge) for n, v in enumerate((4.0, None, 1.0, 2.0))])
        assert [(row[0], row[2]) for row in steps(ledger)] == [(0, 4.0), (1, None), (2, 1.0)]


def test_a_growth_by_itself_is_not_subtracted_from_the_one_before() -> None:
    with open_for_writing(None) as ledger:
        delta = {"kind": "delta"}
        take(
            ledger,
            [sample(10, 7, began_at=5 * S, **delta), sample(20, 3, began_at=10 * S, **delta)],
        )
        assert [row[:2] + row[3:4] for row in steps(ledger)] == [(5, 10, 7), (10, 20, 3)]


values = st.one_of(st.none(), st.floats(0, 1e9))
arriving = st.lists(st.tuples(st.integers(0, 5), values, st.sampled_from("ab")), max_size=12)


@settings(deadline=None, max_examples=30)
@given(arriving, st.randoms(), st.integers(0, 12))
def test_order_and_repetition_of_deliveries_change_nothing(
    found: list[tuple[int, float | None, str]], random: Any, cut: int
) -> None:
    samples = [sample(at, value, labels={"x": label}) for at, value, label in found]
    shuffled = samples + samples[:3]
    random.shuffle(shuffled)
    with open_for_writing(None) as one, open_for_writing(None) as other:
        take(one, samples)
        take(other, shuffled[:cut])
        take(other, shuffled[cut:], 2)
        assert stored(one) == stored(other)
        increases = [row[3] for row in steps(one) if row[3] is not None]
        assert all(increase >= 0 and math.isfinite(increase) for increase in increases)


def test_a_file_of_metrics_is_counted_printed_and_stored(tmp_path: Path) -> None:
    path, ledger_path = tmp_path / "metrics.txt", tmp_path / "l.duckdb"
    path.write_text(TEXT)
    done = CliRunner().invoke(
        gpuledger,
        ["ingest", str(path), "--ledger", str(ledger_path), "--output", "json"],
        standalone_mode=False,
    )
    (row,) = json.loads(done.stdout)
    assert (row["read"], row["new"], row["duplicate"], row["rejected"]) == (3, 2, 0, 1)
    assert f"ignored: {path}: 1 value of metrics that no question reads" in done.stderr
    with open_for_writing(ledger_path) as ledger:
        assert ledger.connection.execute(
            "select format, read_count, ignored_count from deliveries"
        ).fetchall() == [("prometheus-text", 3, 1)]


def test_the_instant_of_undated_metrics_is_given_by_hand(tmp_path: Path) -> None:
    path, ledger_path = tmp_path / "metrics.txt", tmp_path / "l.duckdb"
    path.write_text("llamacpp:requests_processing 1\n")
    command = ["ingest", str(path), "--ledger", str(ledger_path)]
    refused = CliRunner().invoke(gpuledger, command, standalone_mode=False)
    assert (refused.return_value, "--at TIME" in refused.stderr) == (4, True)
    wrong = CliRunner().invoke(gpuledger, [*command, "--at", "noon"])
    assert (wrong.exit_code, "'noon' is no instant" in wrong.stderr) == (2, True)
    CliRunner().invoke(gpuledger, [*command, "--at", "2026-10-01T08:00:00Z"])
    with open_for_writing(ledger_path) as ledger:
        assert [row[1] for row in stored(ledger)] == [1_790_841_600 * S]


def test_a_value_that_fits_no_row_is_rejected_alone() -> None:
    damaged = [sample(2, 5, model="\ud800"), sample(2**40, 5)]
    rows, rejects = sample_table([sample(1, 5), *damaged])
    assert rows.num_rows == 1
    assert [one.position for one in rejects] == ["sample of vllm:generation_tokens_total"] * 2
    assert "cannot be stored" in rejects[1].reason


def test_rejects_of_samples_pass_the_privacy_setting() -> None:
    with open_for_writing(None) as ledger:
        reject = Reject(position="line 1", reason="no sample", record="secret")
        take_batch(ledger, Batch(rejects=[reject]), Configuration(content="off"))
        assert ledger.connection.execute("select record from rejects").fetchall() == [(None,)]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_number_is_not_known(tmp_path: Path, value: str) -> None:
    path, ledger_path = tmp_path / "metrics.txt", tmp_path / "l.duckdb"
    path.write_text(f"# scraped_at 2026-10-01T08:00:00Z\nvllm:num_requests_running {value}\n")
    CliRunner().invoke(gpuledger, ["ingest", str(path), "--ledger", str(ledger_path)])
    with open_for_writing(ledger_path) as ledger:
        assert [row[3] for row in stored(ledger)] == [None]


def test_samples_past_their_age_are_purged_and_what_grew_since_is_known(tmp_path: Path) -> None:
    path = tmp_path / "l.duckdb"
    with open_for_writing(path) as ledger:
        take(ledger, [sample(n, v) for n, v in enumerate((1000, 1500, 200, 700))])
    purged = purge(path, Purge(before={"engine_samples": 1 * S}), Configuration())
    assert [(one.table, one.rows) for one in purged.removed] == [
        ("engine_samples", 1),
        ("cohorts", 0),
    ]
    with open_for_writing(path) as ledger:
        assert [row[3] for row in steps(ledger)] == [200, 500]


def test_a_sample_that_is_there_twice_or_of_no_series_is_found() -> None:
    with open_for_writing(None) as ledger:
        take(ledger, [sample(1, 5)])
        assert set(orphans(ledger).values()) == {0}
        ledger.connection.execute("insert into engine_samples select * from engine_samples")
        ledger.connection.execute("insert into engine_samples values (99, 1, null, 1.0, 1)")
        found = orphans(ledger)
        assert [found["sample of an engine that is there twice"]] == [1]
        assert [found["sample of an engine without series"]] == [1]


def orphans(ledger: Ledger) -> dict[str, int]:
    rows = run_question(ledger.connection, question_named("orphans", "checks")).rows()
    return {str(kind): int(count) for kind, count in rows}
