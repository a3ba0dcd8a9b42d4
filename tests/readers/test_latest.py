"""Of the records of one call the later counts, and few calls wait for theirs."""

from ingest.readers.latest import latest
from ingest.records import Call, Reject


def call(identity: str, output_tokens: int | None) -> Call:
    return Call(
        identity=identity,
        timing_source="tokens",
        tokens_source="unknown" if output_tokens is None else "reported",
        visible_output_tokens=output_tokens,
    )


def told(items: list[Call | Reject], **options: int) -> list[tuple[str, int | None]]:
    found = list(latest(items, **options))
    return [(each.identity, each.visible_output_tokens) for each in found if type(each) is Call]


def test_the_later_usage_replaces_the_earlier() -> None:
    assert told([call("a", 1), call("b", 5), call("a", 90)]) == [("a", 90), ("b", 5)]


def test_a_record_without_usage_replaces_none() -> None:
    assert told([call("a", None), call("a", 3), call("a", None)]) == [("a", 3)]


def test_no_more_than_a_bounded_number_of_calls_waits() -> None:
    items = [call(identity, 1) for identity in "abca"]
    assert told(items, max_open=2) == [("a", 1), ("b", 1), ("c", 1), ("a", 1)]


def test_a_reject_does_not_wait() -> None:
    reject = Reject(position="line 2", reason="bad")
    assert list(latest([call("a", 1), reject])) == [reject, call("a", 1)]
