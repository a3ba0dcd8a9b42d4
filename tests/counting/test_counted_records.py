"""Calls that a reader hands over whole are counted from their texts, as spans are."""

from typing import Any

import pytest

from ingest.config import Configuration
from ingest.records import Call
from ingest.redact import Redaction

ASKED = '[{"role":"system","content":"You are helpful."},{"role":"user","content":"Hello"}]'
NO_USAGE = {"tokens_source": "unknown"}


def taken(content: Any = "hash", **columns: Any) -> Call:
    told = {"identity": "1", "timing_source": "tokens", "model": "gpt-4o", **columns}
    (found,) = Redaction(Configuration(content=content)).calls([Call(**told)])
    return found


def tokens(call: Call) -> tuple[int | None, int | None]:
    return call.uncached_input_tokens, call.visible_output_tokens


# You| are| helpful|. Hello are 5 tokens, two messages of four around them, three before the answer.
@pytest.mark.parametrize("content", ["full", "hash"])
def test_a_record_without_usage_is_counted_and_no_longer_called_unknown(content: Any) -> None:
    note = "begun in the second of `created`"
    found = taken(
        content,
        prompt=ASKED,
        completion='[{"role":"assistant","content":"Hi!"}]',
        tokens_note=f"no usage reported: input and output tokens are unknown; {note}",
        **NO_USAGE,
    )
    assert (tokens(found), found.tokens_source) == ((16, 2), "counted")
    assert (found.system_tokens, found.history_tokens, found.user_tokens) == (4, 0, 1)
    assert len(found.prefix_hashes or ()) == 1
    assert found.tokens_note == (
        f"{note}; input counted with o200k_base: 5 of text, 11 of chat format; "
        "output counted with o200k_base"
    )


def test_what_is_still_missing_stays_said() -> None:
    note = "no usage reported: input and output tokens are unknown"
    found = taken(prompt=ASKED, tokens_note=note, **NO_USAGE)
    assert tokens(found) == (16, None)
    assert (found.tokens_note or "").endswith("no usage reported: output tokens are unknown")


def test_what_a_line_of_the_whole_run_has_is_not_counted_besides() -> None:
    note = "no usage reported: input and output tokens are unknown; the run tells them together"
    found = taken(completion="Hi!", tokens_note=note, **NO_USAGE)
    assert (tokens(found), found.tokens_source) == ((None, None), "unknown")
    assert found.tokens_note == note
    assert found.output_hash is not None


def test_reported_counts_and_hashes_of_a_record_stay() -> None:
    found = taken(
        prompt="Where is Paris? " * 20,
        uncached_input_tokens=1000,
        visible_output_tokens=200,
        prefix_hashes=(7, 8),
        prefix_block_tokens=512,
    )
    assert (tokens(found), found.tokens_source, found.tokens_note) == (
        (1000, 200),
        "reported",
        None,
    )
    assert (found.prefix_hashes, found.prefix_block_tokens) == ((7, 8), 512)
    assert found.user_tokens == 81


def test_a_record_is_not_counted_where_content_is_off_or_the_request_was_refused() -> None:
    refused = {"status": "error", "http_status": 400}
    for found in (
        taken("off", prompt=ASKED, **NO_USAGE),
        taken(prompt=ASKED, **refused, **NO_USAGE),
    ):
        assert (tokens(found), found.tokens_source) == ((None, None), "unknown")
