"""What is wrong with the texts of prompts and answers is found at the very calls that tell it."""

import gzip
import json
from typing import Any

import polars as pl
import pytest

from analysis.boilerplate import boilerplate, boilerplate_claims
from analysis.chunks import chunks, chunks_claims
from analysis.examples import examples
from analysis.output_format import output_format, output_format_claims
from analysis.routing import routing_claims
from analysis.window import Window
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.sample import sample_configuration_path, sample_waste_path

pytestmark = pytest.mark.xdist_group("sample")

CONFIGURATION = load_configuration(sample_configuration_path())
MEASURES = {
    "preamble": "preamble_tokens > 0",
    "trailing": "trailing_tokens > 0",
    "restated": "restated_tokens > 0",
    "markup": "markup_tokens > 0",
    "repeated_document": "duplicate_tokens > 0",
}


@pytest.fixture(scope="module")
def planted() -> dict[str, list[str]]:
    """What is wrong with a text to the calls that tell such a text."""
    loaded: dict[str, Any] = json.loads(gzip.decompress(sample_waste_path().read_bytes()))
    found: dict[str, list[str]] = loaded["texts"]
    return found


def told(ledger: Ledger) -> pl.DataFrame:
    """Every call with its id in the telemetry and what was measured of its texts."""
    found: pl.DataFrame = ledger.connection.sql(
        "select c.*, p.markup_tokens, p.duplicate_tokens, p.near_duplicate_tokens, "
        "case when s.name = 'llm_request' then s.parent_span_id "
        "else coalesce(c.span_id, c.call_id) end as told_id from calls as c "
        "left join spans as s on c.trace_id = s.trace_id and c.span_id = s.span_id "
        "left join call_prompts as p on c.call_id = p.call_id"
    ).pl()
    return found


@pytest.mark.parametrize("name", MEASURES)
def test_each_text_is_measured_for_what_it_is(
    sample_ledger: Ledger, planted: dict[str, list[str]], name: str
) -> None:
    found = told(sample_ledger).filter(pl.sql_expr(MEASURES[name]))
    assert sorted(found["told_id"]) == sorted(planted[name])


def test_every_json_of_the_extracts_is_told_from_prose(
    sample_ledger: Ledger, planted: dict[str, list[str]]
) -> None:
    shapes = told(sample_ledger).filter(pl.col("answer_shape").is_not_null())
    counts = dict(shapes.group_by("answer_shape").len().iter_rows())
    wrapped = {*planted["preamble"], *planted["trailing"]}
    answered = shapes.filter(pl.col("endpoint") == "/extract").height
    assert counts == {
        "json": answered - len(wrapped),
        "json_in_text": len(wrapped),
        "prose": shapes.filter(pl.col("endpoint") == "/chat").height,
    }


def test_menus_and_repeated_pages_can_be_left_out_where_they_were_planted(
    sample_ledger: Ledger, planted: dict[str, list[str]]
) -> None:
    calls = told(sample_ledger)
    claimed = chunks_claims(sample_ledger, window=Window()).join(calls, on="call_no")
    assert sorted(claimed["told_id"]) == sorted(planted["markup"])
    rows = {row["endpoint"]: row for row in chunks(sample_ledger, CONFIGURATION).frame.to_dicts()}
    with_saving = {name for name, row in rows.items() if row["saved_tokens"]}
    assert with_saving == {"/summarize"}
    assert rows["/summarize"]["chunked_count"] == len(planted["markup"])
    assert rows["/summarize"]["near_duplicate_tokens"] == 0


def test_the_one_block_of_examples_is_that_of_the_extracts(sample_ledger: Ledger) -> None:
    frame = examples(sample_ledger, CONFIGURATION).frame
    (row,) = frame.filter(pl.col("examples_hash").is_not_null()).to_dicts()
    calls = told(sample_ledger).filter(pl.col("endpoint") == "/extract").height
    assert (row["endpoint"], row["shown_count"], row["call_count"]) == ("/extract", calls, calls)


def test_the_one_closing_phrase_is_boilerplate_where_it_was_planted(
    sample_ledger: Ledger, planted: dict[str, list[str]]
) -> None:
    (row,) = boilerplate(sample_ledger, CONFIGURATION).frame.to_dicts()
    assert (row["endpoint"], row["sentence_tokens"]) == ("/chat", 14)
    claimed = boilerplate_claims(sample_ledger, window=Window())
    found = claimed.join(told(sample_ledger), on="call_no")
    assert sorted(found["told_id"]) == sorted(planted["closing"])
    assert found["origin"].unique().to_list() == ["production"]
    assert row["call_count"] == len(planted["closing"])


def test_words_around_json_and_restated_questions_need_not_be_written(
    sample_ledger: Ledger, planted: dict[str, list[str]]
) -> None:
    calls = told(sample_ledger)
    for parts, names in (
        (("trailing",), ("trailing",)),
        (("preamble", "blanks"), ("preamble",)),
        (("restated",), ("restated",)),
    ):
        claims = output_format_claims(sample_ledger, window=Window(), parts=parts)
        found = claims.join(calls, on="call_no")
        assert sorted(found["told_id"]) == sorted(one for name in names for one in planted[name])
    frame = output_format(sample_ledger, CONFIGURATION).frame
    saved = frame.filter(pl.col("saved_gpu_seconds") > 0)
    assert saved["endpoint"].to_list() == ["/chat"]
    assert (saved["saved_gpu_seconds"] < 1e-3 * saved["decode_gpu_seconds"]).all()


def test_no_work_of_the_sample_is_simple(sample_ledger: Ledger) -> None:
    assert routing_claims(sample_ledger, CONFIGURATION, window=Window()).is_empty()
