"""Arguments and results of tools: what tells two runs apart, and what does not."""

from typing import Any

import pytest

from ingest.calls.canonical import fingerprint_of_arguments, fingerprint_of_result
from ingest.config import Configuration

CONFIGURATION = Configuration()
ASKED = '{"q":"x","page":1}'


def arguments(value: Any) -> str | None:
    return fingerprint_of_arguments(value, CONFIGURATION)


def result(value: Any) -> str | None:
    return fingerprint_of_result(value, CONFIGURATION)


@pytest.mark.parametrize(
    "other",
    [
        '{"page":1,"q":"x"}',
        '{ "q" : "x",\n "page" : 1 }',
        {"q": "x", "page": 1},
        '{"q":"x","page":1,"nonce":7}',
        '{"q":"x","page":1,"Request-ID":"a","timestamp":"2026-11-10T10:00:00Z","counter":3}',
        '{"uuid":"f3","requestId":"b","q":"x","page":1,"idempotency_key":"k"}',
    ],
)
def test_order_form_and_volatile_keys_change_no_arguments(other: Any) -> None:
    assert arguments(other) == arguments(ASKED)


@pytest.mark.parametrize(
    "other",
    [
        '{"q":"y","page":1}',
        '{"q":"x","page":2}',
        '{"q":"x"}',
        '{"q":"X","page":1}',
        '{"q":"x","page":"1"}',
        '{"q":"x","page":1,"user_uuid":"f3"}',
        '{"q":"x","page":1,"start_timestamp":1}',
        '[{"q":"x","page":1}]',
    ],
)
def test_other_values_and_other_keys_are_other_arguments(other: str) -> None:
    assert arguments(other) != arguments(ASKED)


def test_volatile_keys_are_dropped_at_any_depth_of_arguments() -> None:
    assert arguments('{"body":{"q":"x","nonce":1}}') == arguments('{"body":{"q":"x","nonce":2}}')


def test_an_object_of_volatile_keys_alone_keeps_them() -> None:
    assert arguments('{"uuid":"a"}') != arguments('{"uuid":"b"}')
    assert arguments('{"uuid":"a","page":1}') == arguments('{"uuid":"b","page":1}')


def test_a_result_keeps_counters_and_what_is_below_its_top() -> None:
    assert result('{"state":"wait","request_id":1}') == result('{"state":"wait","request_id":2}')
    assert result('{"state":"wait","counter":1}') != result('{"state":"wait","counter":2}')
    events = [f'{{"events":[{{"what":"beat","timestamp":{at}}}]}}' for at in (1, 2)]
    assert result(events[0]) != result(events[1])


def test_plain_text_is_compared_as_text() -> None:
    assert arguments("list all\r\n") == arguments("list all")
    assert arguments("list all") != arguments("list some")


def test_a_key_makes_other_hashes_and_off_makes_none() -> None:
    assert arguments(ASKED) is not None
    keyed = fingerprint_of_arguments(ASKED, Configuration(hash_key="k"))
    assert (keyed or "").startswith("v3k:")
    assert fingerprint_of_arguments(ASKED, Configuration(content="off")) is None


def test_a_fingerprint_stays_what_it_is() -> None:
    assert arguments(arguments(ASKED)) == arguments(ASKED)


def test_nesting_without_end_is_cut_and_no_error() -> None:
    assert arguments("[" * 100_000) is not None
    deep: Any = {"q": "x"}
    for _ in range(200):
        deep = {"in": deep}
    assert arguments(deep) is not None
