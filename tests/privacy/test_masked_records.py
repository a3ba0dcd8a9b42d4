"""Masks over spans, calls and rejects: every text of them, and hashes from before."""

from collections import Counter
from typing import Any

import pytest

from ingest.calls.derive import derive_trace
from ingest.calls.fingerprints import fingerprint, is_fingerprint, pseudonym
from ingest.config import Configuration, MaskPattern
from ingest.masking.records import masking_of
from ingest.records import Call, Reject, Span, SpanEvent
from ingest.redact import Redaction

CARD = "4111 1111 1111 1111"
MARK = "[masked: secret]"
FULL = Configuration(content="full")


def span(attributes: dict[str, Any] | None = None, **fields: Any) -> Span:
    ids = {"trace_id": "a" * 32, "span_id": "1" * 16, "name": "chat"}
    return Span(**{**ids, **fields}, started_at=1, ended_at=9, attributes=attributes or {})


def stored(given: Span, configuration: Configuration = FULL) -> Span:
    (clean,) = Redaction(configuration).spans([given])
    return clean


@pytest.mark.parametrize(
    ("attribute", "kept"),
    [
        ({"note": f"paid with {CARD}"}, {"note": "paid with [masked: card]"}),
        ({"n": 4111111111111111}, {"n": "[masked: card]"}),
        ({"n": 1790000000000000000, "b": True, "x": None}, None),
        ({"session.id": "12345678-9012-4345-8678-901234567890"}, None),
        ({"session.id": "4111111111111111"}, None),
        ({"deep": {"user": {"password": "x"}}}, {"deep": {"user": {"password": MARK}}}),
        (
            {"list": [{"key": "api_key", "value": "x"}]},
            {"list": [{"key": "api_key", "value": MARK}]},
        ),
        ({"header.authorization": ["x", "y"]}, {"header.authorization": [MARK, MARK]}),
        ({"db.password": {"old": 1, "new": "y"}}, {"db.password": {"old": MARK, "new": MARK}}),
        ({f"seen {CARD}": 1}, {"seen [masked: card]": 1}),
        ({"gen_ai.usage.input_tokens": 3, "llm.latency.time_to_first_token": 0.2}, None),
        ({"t": '{"u":{"password":"x"}}'}, {"t": '{"u":{"password":"[masked: secret]"}}'}),
    ],
)
def test_an_attribute_is_masked_however_deep_it_stands(
    attribute: dict[str, Any], kept: dict[str, Any] | None
) -> None:
    assert dict(stored(span(attribute)).attributes) == (attribute if kept is None else kept)


def test_every_text_of_a_span_is_masked() -> None:
    given = span(
        name=f"pay {CARD}",
        status_message="no user joe@example.com",
        service="shop of joe@example.com",
        scope="lib joe@example.com",
        resource={"owner": "joe@example.com"},
        events=[SpanEvent(name=f"used {CARD}", attributes={"exception.message": f"bad {CARD}"})],
    )
    kept = stored(given, Configuration())
    assert (kept.name, kept.status_message) == ("pay [masked: card]", "no user [masked: email]")
    assert (kept.service, kept.scope) == ("shop of [masked: email]", "lib [masked: email]")
    assert dict(kept.resource) == {"owner": "[masked: email]"}
    (event,) = kept.events
    assert (event.name, dict(event.attributes)) == (
        "used [masked: card]",
        {"exception.message": "bad [masked: card]"},
    )


def test_spans_that_share_a_resource_share_it_masked() -> None:
    resource = {"owner": "joe@example.com"}
    spans = [span(span_id=f"{number:016x}", resource=resource) for number in range(2)]
    first, second = Redaction(FULL).spans(spans)
    assert first.resource is second.resource
    assert dict(first.resource) == {"owner": "[masked: email]"}


def test_spans_in_which_nothing_is_found_are_passed_on() -> None:
    given = [span({"gen_ai.request.model": "m", "note": "the secret is safe"})]
    assert Redaction(FULL).spans(given) is given


def test_a_pattern_of_ones_own_sees_what_json_would_escape() -> None:
    own = Configuration(
        content="full", mask_patterns=(MaskPattern(name="order", pattern=r'^"ORD\\[0-9]$'),)
    )
    assert stored(span({"a": '"ORD\\7'}), own).attributes["a"] == "[masked: order]"


def messages(card: str) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": f'[{{"role":"user","content":"charge {card}"}}]',
        "gen_ai.output.messages": f'[{{"role":"assistant","content":"charged {card}"}}]',
        "gen_ai.tool.definitions": f'[{{"name":"charge","default":"{card}"}}]',
    }


FORMS = {
    "chat": messages,
    "tool": lambda card: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": f'{{"card":"{card}"}}',
        "gen_ai.tool.call.result": f"paid with {card}",
    },
    "retrieval": lambda card: {
        "openinference.span.kind": "RETRIEVER",
        "input.value": f"who has {card}",
        "retrieval.documents.0.document.content": f"joe has {card}",
    },
    "listed tools": lambda card: {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.content": f"charge {card}",
        "llm.tools.0.tool.json_schema": f'{{"card":"{card}"}}',
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", [None, "k"])
def test_hashes_are_those_of_the_texts_before_masking(form: str, key: str | None) -> None:
    given = span(FORMS[form](CARD))
    full = Configuration(content="full", hash_key=key)
    hashed = Configuration(content="hash", hash_key=key)
    of_full = derive_trace([stored(given, full)], full)
    of_hash = derive_trace([stored(given, hashed)], hashed)
    unmasked = derive_trace([given], Configuration(content="full", hash_key=key, mask=()))
    assert of_full.tool_runs == of_hash.tool_runs == unmasked.tool_runs
    assert of_full.retrievals == of_hash.retrievals == unmasked.retrievals
    for one, other, third in zip(of_full.calls, of_hash.calls, unmasked.calls, strict=True):
        hashes = [(c.input_hash, c.output_hash, c.prompt_hash) for c in (one, other, third)]
        assert hashes[0] == hashes[1] == hashes[2]


def test_two_texts_that_differ_in_what_is_masked_are_two() -> None:
    first, second = (
        derive_trace([stored(span(messages(card)))], FULL).calls[0]
        for card in (CARD, "5500 0055 5555 5559")
    )
    assert first.prompt == second.prompt
    assert "charge [masked: card]" in str(first.prompt)
    assert first.input_hash != second.input_hash


def test_a_record_of_a_call_is_masked_in_every_text_after_its_hashes() -> None:
    given = Call(
        identity="call_id:joe@example.com",
        timing_source="engine",
        endpoint=f"/pay/{CARD}",
        error_type="password=x",
        conversation_id="joe@example.com",
        prompt=f"charge {CARD}",
        completion="joe@example.com",
    )
    (kept,) = Redaction(FULL).calls([given])
    assert (kept.endpoint, kept.error_type) == ("/pay/[masked: card]", "password=[masked: secret]")
    assert (kept.prompt, kept.completion) == ("charge [masked: card]", "[masked: email]")
    assert kept.input_hash == fingerprint(f"charge {CARD}", FULL)
    assert (kept.conversation_id, kept.identity) == ("[masked: email]", "joe@example.com")


@pytest.mark.parametrize("setting", ["full", "hash", "off"])
@pytest.mark.parametrize("user", ["joe@example.com", "4111111111111111", "u-17"])
def test_users_stay_apart_without_what_a_mask_finds_in_their_ids(setting: Any, user: str) -> None:
    configuration = Configuration(user_ids=setting, hash_key="k")
    is_kept = setting == "full" and user == "u-17"
    expected = {
        "full": user if is_kept else pseudonym(user, configuration),
        "hash": pseudonym(user, configuration),
        "off": None,
    }[setting]
    by_span = stored(span({"user.id": user}), configuration).attributes.get("user.id")
    (call,) = Redaction(configuration).calls(
        [Call(identity="1", timing_source="engine", user_id=user)]
    )
    assert (by_span, call.user_id) == (expected, expected)
    assert expected in (None, user) or is_fingerprint(expected)


def test_a_user_in_metadata_or_of_a_mapped_attribute_is_one_too() -> None:
    configuration = Configuration(user_ids="off", map={"user_id": ("resource.owner",)})
    kept = stored(
        span({"metadata": '{"user_id":"u-17","a":1}'}, resource={"owner": "u-17"}), configuration
    )
    assert (kept.attributes["metadata"], dict(kept.resource)) == ('{"a":1}', {})


def test_a_reject_is_masked_in_reason_and_record() -> None:
    given = Reject(position="line 1", reason=f"usage '{CARD}' is no object", record=f"x {CARD}")
    (kept,) = Redaction(FULL).rejects([given])
    assert (kept.reason, kept.record) == ("usage '[masked: card]' is no object", "x [masked: card]")


def test_a_reason_quotes_no_prose_where_texts_are_not_stored() -> None:
    given = Reject(position="line 1", reason="usage 'the secret recipe' is no object; see 'input'")
    (kept,) = Redaction(Configuration()).rejects([given])
    assert kept.reason == "usage '…' is no object; see 'input'"


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (
            "id 'zz' is neither 32 hex digits nor base64",
            "id 'zz' is neither 32 hex digits nor base64",
        ),
        ("'abc' is no whole number", "'abc' is no whole number"),
        ("the model's own 'x' and 'two words'", "the model's own 'x' and '…'"),
        ("'it's my private text' is no object", "'…' is no object"),
        (r"'don\'t tell any one' is no count", "'…' is no count"),
        ('"it\'s two words" is no count', "'…' is no count"),
        ("'cut off in the mid", "'…'"),
    ],
)
def test_a_reason_says_what_is_wrong_after_what_it_quotes(reason: str, kept: str) -> None:
    (found,) = Redaction(Configuration()).rejects([Reject(position="line 1", reason=reason)])
    assert found.reason == kept


@pytest.mark.parametrize(
    "value",
    [
        '{"stringValue":"hunter\\"2"}',
        '{"arrayValue": {"values": [{"stringValue": "hunter2"}]}}',
        '{"intValue":"42"}',
        '{"intValue":42}',
        '"hunter2"',
        '{"stringValue":"hunter2 cut o',
    ],
)
def test_a_rejected_span_keeps_no_value_under_the_name_of_a_secret(value: str) -> None:
    record = f'{{"spanId":"q","attributes":[{{"key":"db.password","value":{value}'
    (found,) = Redaction(FULL).rejects([Reject(position="line 1", reason="", record=record)])
    assert found.record is not None
    assert "[masked: secret]" in found.record
    assert not any(part in found.record for part in ("hunter", "42"))


def test_what_was_masked_is_counted_by_mask() -> None:
    redaction = Redaction(FULL)
    redaction.spans([span({"a": CARD, "b": "joe@example.com", "user.password": "x"})])
    redaction.rejects([Reject(position="1", reason=CARD)])
    assert redaction.masked == {"card": 2, "email": 1, "secret": 1}


def test_a_span_that_is_no_json_is_looked_at_all_the_same() -> None:
    kept = masking_of(FULL).spans([span({"a": {1, 2}, "b": CARD})], Counter())
    assert kept[0].attributes["b"] == "[masked: card]"
