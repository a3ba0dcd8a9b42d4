"""Question files: a header of facts, helper names, bound values."""

import pytest

from analysis.errors import QuestionFileError
from analysis.helpers import TEMPLATES, expand, parameters_of
from analysis.sql import all_questions, parse_question, question_named, run_question
from ingest.ledger import open_for_writing

HEADER = """-- name: example
-- question: How many calls are there?
-- grain: the ledger
-- unit: calls
-- params: $since in nanoseconds, which may be
--   null
-- nulls: none
-- identity: none
"""
TEXT = "select count(*) as call_count from call_rows where started_at >= $since"


def test_a_header_becomes_facts_and_continued_lines_are_joined() -> None:
    question = parse_question(HEADER + TEXT, "example.sql")
    assert question.question == "How many calls are there?"
    assert question.params == "$since in nanoseconds, which may be null"
    assert question.parameters == {"since"}
    assert question.text == TEXT


def test_a_comment_after_the_header_belongs_to_the_text() -> None:
    question = parse_question(HEADER + "\n-- Only what began.\n" + TEXT, "example.sql")
    assert question.text == "-- Only what began.\n" + TEXT


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER.replace("-- grain: the ledger\n", ""), r"lacks \['grain'\]"),
        (HEADER.replace("-- unit: calls", "-- unit:"), r"lacks \['unit'\]"),
        (HEADER.replace("-- nulls:", "-- nils:"), r"unknown \['nils'\] and lacks \['nulls'\]"),
        (HEADER.replace("name: example", "name: other"), "the header names it 'other'"),
        (
            HEADER.replace("$since", "$until"),
            r"params name \['until'\], the text binds \['since'\]",
        ),
    ],
)
def test_a_header_that_does_not_describe_its_file_is_an_error(header: str, said: str) -> None:
    with pytest.raises(QuestionFileError, match=said):
        parse_question(header + TEXT, "example.sql")


def test_every_file_describes_itself() -> None:
    names = [
        question.name for folder in ("questions", "checks") for question in all_questions(folder)
    ]
    assert {"law", "calls", "latency", "trace", "virtual_time", "orphans"} <= set(names)


def test_a_value_too_many_or_too_few_is_an_error() -> None:
    with open_for_writing(None) as ledger, pytest.raises(QuestionFileError, match="was given"):
        run_question(ledger.connection, question_named("extent"), since=1)


def test_helpers_are_replaced_from_the_inside() -> None:
    text = "select percentile(case when quarter_of(t) > 3 then s end, 0.95) as p95_s"
    assert expand(text) == (
        "select quantile_cont(case when cast((t) // 900000000000 as integer) > 3 then s end, 0.95)"
        " as p95_s"
    )
    assert "percentile(case when cast((t) div 900000000000 as int)" in expand(text, "spark")


def test_helpers_in_comments_and_literals_stay_as_they_are() -> None:
    text = "select 'explode(x), (' as note -- explode(y)\nfrom t"
    assert expand(text) == text


def test_commas_inside_calls_and_literals_do_not_split_arguments() -> None:
    assert expand("explode(coalesce(a, ','))") == "unnest(coalesce(a, ','))"


def test_parameters_are_marked_as_the_dialect_marks_them() -> None:
    text = "select explode($names) where a >= $since and b <> '$no'"
    assert parameters_of(text) == {"names", "since"}
    assert expand(text, "spark").startswith("select explode(:names) where a >= :since")


def test_every_helper_has_a_template_in_every_dialect() -> None:
    assert {frozenset(templates) for templates in TEMPLATES.values()} == {
        frozenset({"duckdb", "spark"})
    }


def test_every_question_expands_for_spark_without_helpers_of_duckdb() -> None:
    for folder in ("questions", "checks"):
        for question in all_questions(folder):
            text = question.sql("spark")
            assert "//" not in text, question.name
            assert "$" not in text, question.name
            assert "quantile_cont" not in text, question.name
            assert "unnest(" not in text, question.name


def test_a_helper_without_its_arguments_is_an_error() -> None:
    with pytest.raises(QuestionFileError, match="percentile is given 1 argument"):
        expand("percentile(x)")
    with pytest.raises(QuestionFileError, match="no closing parenthesis"):
        expand("explode(x")
