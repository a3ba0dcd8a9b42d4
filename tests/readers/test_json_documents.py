"""Documents of a file, one a line or not, and values that a strict parser refuses."""

import pytest

from ingest.errors import UnreadableSourceError
from ingest.readers.documents import Document, documents
from ingest.readers.json_text import MAX_DEPTH, bounded, loads
from ingest.records import Reject


def values(source) -> list[object]:
    return [
        (item.position, item.value) if isinstance(item, Document) else item.position
        for item in documents(source)
    ]


def test_a_document_a_line_has_the_number_of_its_line(source_of) -> None:
    source = source_of(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}')
    assert values(source) == [("line 1", {"a": 1}), ("line 3", {"a": 2})]


def test_one_document_over_many_lines_is_the_whole_file(source_of) -> None:
    assert values(source_of(b'{\n "a": [\n  {"b": 1}\n ]\n}\n')) == [("", {"a": [{"b": 1}]})]
    assert values(source_of(b'[\n{"a": 1},\n{"b": 2}\n]\n')) == [("", [{"a": 1}, {"b": 2}])]


def test_documents_over_many_lines_follow_each_other(source_of) -> None:
    source = source_of(b'{\n "a": 1\n}\n{\n "a": 2\n}')
    assert values(source) == [("line 1", {"a": 1}), ("line 4", {"a": 2})]


def test_a_broken_document_is_rejected_and_the_next_one_is_read(source_of) -> None:
    assert values(source_of(b'{\n "a": 1\n}\n{\n "a": oops\n}\n{\n "a": 3\n}\n')) == [
        ("line 1", {"a": 1}),
        "line 4",
        ("line 7", {"a": 3}),
    ]
    assert values(source_of(b'{"a": oops}\n{"a": 2}\n{"a": \n')) == [
        "line 1",
        ("line 2", {"a": 2}),
        "line 3",
    ]


def test_a_reject_keeps_the_line_and_says_what_is_wrong(source_of) -> None:
    _, reject = documents(source_of(b'{"a": 1}\n{"a": oops}\n'))
    assert isinstance(reject, Reject)
    assert reject.position == "line 2"
    assert reject.reason.startswith("no valid JSON: ")
    assert reject.record == '{"a": oops}'


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{\n "a": [1, 2', "truncated JSON, its end is missing"),
        (b'{\n "a": "tex', "truncated JSON, its end is missing"),
        (b'{"a": [1, 2', "truncated JSON, its end is missing"),
        (b"no JSON\nat all\n", "no JSON but text beginning 'no JSON'"),
    ],
)
def test_a_file_without_any_document_is_unreadable(source_of, content: bytes, what: str) -> None:
    with pytest.raises(UnreadableSourceError, match=what):
        values(source_of(content))


def test_a_line_beyond_the_limit_is_rejected_alone(
    source_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.readers.documents.MAX_DOCUMENT_BYTES", 16)
    source = source_of(b'{"a":1}\n{"a":"' + b"x" * 40 + b'"}\n{"a":2}\n')
    assert values(source) == [("line 1", {"a": 1}), "line 2", ("line 3", {"a": 2})]


def test_nan_infinity_and_lone_surrogates_do_not_take_a_document_down() -> None:
    text = b'{"nan": NaN, "inf": -Infinity, "huge": 1e999, "text": "a\\ud800b", "ok": 1}'
    assert loads(text) == {"nan": None, "inf": None, "huge": None, "text": "a\ufffdb", "ok": 1}


def test_of_repeated_keys_the_last_counts() -> None:
    assert loads(b'{"a": 1, "a": 2}') == {"a": 2}
    assert loads(b'{"a": 1, "a": 2, "b": NaN}') == {"a": 2, "b": None}


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert loads(b'{"a": "\xff"}') == {"a": "\ufffd"}


def test_nesting_without_a_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        bounded(loads(b"[" * 100_000 + b"]" * 100_000))
    with pytest.raises(ValueError, match="nested too deep, and no valid JSON"):
        loads(b"[" * 100_000)
    value: list[object] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert bounded(value) is value
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        bounded([value])
