"""What the sample's engines are known to do, seen from the calls alone."""

import polars as pl
import pytest

from analysis.concurrency import concurrency
from analysis.context_limits import context_limits
from analysis.interference import interference, interference_verdicts
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.company import CHAT_POOL
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")

CONFIGURATION = load_configuration(sample_configuration_path())


def test_calls_hold_no_more_tokens_than_their_engine_has_room_for(sample_ledger: Ledger) -> None:
    row = concurrency(sample_ledger, CONFIGURATION, where={"pool": "chat-h100"}).frame.row(
        0, named=True
    )
    assert row["kv_cache_tokens"] == pytest.approx(CHAT_POOL.law.kv_tokens)
    assert 0.8 * CHAT_POOL.law.kv_tokens < row["kv_max_tokens"] <= CHAT_POOL.law.kv_tokens


def test_calls_wait_where_the_running_ones_grow_into_the_memory(sample_ledger: Ledger) -> None:
    # The sample's engine admits a call when it has room for it and for all others to their end.
    row = concurrency(sample_ledger, CONFIGURATION, where={"pool": "chat-h100"}).frame.row(
        0, named=True
    )
    assert row["queued_s"] > 1_000
    assert row["queued_growing_s"] + row["queued_full_s"] > 0.8 * row["queued_s"]


def test_a_step_with_a_prompt_holds_up_the_answers_beside_it(sample_ledger: Ledger) -> None:
    # A step that reads 2,048 tokens of prompt takes ten times one that only decodes.
    frame = interference(sample_ledger, CONFIGURATION).frame
    assert frame.select(pl.col("slower_low_ratio").min()).item() > 0.7
    assert frame.select(pl.col("slower_high_ratio").max()).item() < 1
    verdicts = interference_verdicts(sample_ledger, CONFIGURATION)
    applies = dict(verdicts.filter(pl.col("lever") == 36).select("pool", "applies").iter_rows())
    assert applies == {"chat-h100": False, "rag-l4": True}


def test_no_call_is_longer_than_its_engine_takes(sample_ledger: Ledger) -> None:
    frame = context_limits(sample_ledger, CONFIGURATION, by=("pool",)).frame
    at_own = frame.filter(pl.col("limit_tokens") == pl.col("max_model_len"))
    assert at_own["pool"].to_list() == ["chat-h100", "rag-l4"]
    assert at_own["refused_count"].to_list() == [0, 0]
