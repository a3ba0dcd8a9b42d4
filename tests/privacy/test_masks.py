"""What each mask finds, what it leaves alone, and what becomes of a text on which one fails."""

import re
from collections import Counter

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.config import Configuration, MaskPattern
from ingest.errors import ConfigurationError
from ingest.masking import Masks, masks_of
from ingest.masking.checked import is_card

ALL = Configuration(mask=("secret", "card", "iban", "email", "phone", "ip"))


def masked(text: str, configuration: Configuration = ALL, *, is_id: bool = False) -> str:
    (found,) = masks_of(configuration).texts([text], Counter(), are_ids=is_id)
    return found


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("failed: password=hunter2 for joe", "failed: password=[masked: secret] for joe"),
        ('{"user":{"password":"x y\\"z"}}', '{"user":{"password":"[masked: secret]"}}'),
        (r'{"a":"{\"pwd\":\"x y\",\"b\":1}"}', r'{"a":"{\"pwd\":\"[masked: secret]\",\"b\":1}"}'),
        ("{'api_key': 'x y'}", "{'api_key': '[masked: secret]'}"),
        ('{"client_secret": 1234}', '{"client_secret": "[masked: secret]"}'),
        ("Authorization: Basic am9lOng=", "Authorization: [masked: secret]"),
        ("curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: [masked: secret]'"),
        ("sent Bearer abc.1 on", "sent Bearer [masked: secret] on"),
        ("h.example/p?tokens=5&token=ab%2Fc", "h.example/p?tokens=5&token=[masked: secret]"),
        ("run --token hunter2 --tokens 5", "run --token [masked: secret] --tokens 5"),
        ("run --password hunter2 --fast", "run --password [masked: secret] --fast"),
        ("postgres://joe:pw@db/x", "postgres://joe:[masked: secret]@db/x"),
        ("key sk-" + "a1B2" * 5, "key [masked: secret]"),
        ("key ghp_" + "a1B2" * 9 + ".", "key [masked: secret]."),
        ("key AKIA" + "ABCD1234" * 2, "key [masked: secret]"),
        ("got eyJhbGciOi.eyJzdWIiOi.c2ln", "got [masked: secret]"),
        ("\\n4111 1111 1111 1111", "\\n[masked: card]"),
        ("card\n4111 1111 1111 1111.", "card\n[masked: card]."),
        ("4111-1111-1111-1111", "[masked: card]"),
        ("3782 822463 10005", "[masked: card]"),
        ("card_5500005555555559", "card_[masked: card]"),
        ("4111１１１１11111１１１", "[masked: card]"),
        ("to DE89 3704 0044 0532 0130 00 PAID", "to [masked: iban] PAID"),
        ("GB82WEST12345698765432", "[masked: iban]"),
        ("from Jane.Doe+x@mail.example.com, now", "from [masked: email], now"),
        ("+81 90-1234-5678", "[masked: phone]"),
        ("(555) 123-4567", "[masked: phone]"),
        ("090-1234-5678", "[masked: phone]"),
        ("at 192.168.0.1:80", "at [masked: ip]:80"),
        ("at fe80::1 now", "at [masked: ip] now"),
    ],
)  # fmt: skip
def test_a_secret_becomes_the_name_of_what_it_was(text: str, stored: str) -> None:
    assert masked(text) == stored


@pytest.mark.parametrize(
    "text",
    [
        "12345678-9012-4345-8678-901234567890",
        "9b2d4678-9012-4345-4111-111111111111",
        "4111111111111112",
        "0.4111111111111111",
        "id a4111111111111111",
        "1790000000000000000",
        "1790000000000",
        "2026-11-29 10:00:00+09:00",
        "DE88 3704 0044 0532 0130 00",
        "llama-3.1-8b-instruct",
        "gpt-4o-2024-08-06",
        "claude-3-5-sonnet-v2@20241022",
        "bedrock/eu.vendor.model-v1:0",
        "meta-llama/Llama-3.1-8B-Instruct",
        "POST /v1/chat/completions",
        "/users/{id}/tokens",
        "max_tokens: 5, prompt_tokens=12",
        "the secret of the password",
        "a task-force of risk-takers",
        "connect to https://api.example.com:8080/v1?q=1",
        "4096 tokens in 12.5 s, 1,234,567 calls",
    ],
)
def test_names_ids_times_and_figures_stay(text: str) -> None:
    assert masked(text, Configuration()) == text


def test_a_card_without_groups_stays_where_ids_are_and_a_grouped_one_does_not() -> None:
    assert masked("4111111111111111", is_id=True) == "4111111111111111"
    assert masked("4111 1111 1111 1111", is_id=True) == "[masked: card]"


@pytest.mark.parametrize(
    ("number", "is_one"),
    [
        ("4111111111111111", True),
        ("378282246310005", True),
        ("6011111111111117", True),
        ("3530111333300000", True),
        ("4111111111111112", False),
        ("1111111111111117", False),
    ],
)
def test_a_card_has_an_issuer_and_luhns_digit(number: str, is_one: bool) -> None:
    assert is_card(number) is is_one


def test_addresses_of_machines_stay_unless_asked_for() -> None:
    assert masked("replica 10.0.0.3:8000", Configuration()) == "replica 10.0.0.3:8000"


def test_what_is_not_asked_for_is_not_masked() -> None:
    assert masked("joe@example.com 4111111111111111", Configuration(mask=("card",))) == (
        "joe@example.com [masked: card]"
    )
    assert masked("password=x", Configuration(mask=())) == "password=x"


def test_a_pattern_of_ones_own_is_marked_by_its_name() -> None:
    own = Configuration(mask_patterns=(MaskPattern(name="order", pattern=r"\bORD-[0-9]{6}\b"),))
    assert masked("for ORD-123456 now", own) == "for [masked: order] now"


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"(a)\1", "(", "(a{1000}){1000}"])
def test_a_pattern_that_could_be_slow_or_is_none_is_refused_in_words(pattern: str) -> None:
    own = Configuration(mask_patterns=(MaskPattern(name="x", pattern=pattern),))
    with pytest.raises(ConfigurationError, match=r"mask_patterns\[0\].pattern cannot be used.*RE2"):
        masks_of(own)


def test_a_pattern_on_which_others_hang_takes_a_text_in_its_stride() -> None:
    own = Configuration(mask_patterns=(MaskPattern(name="x", pattern=r"(a+)+$"),))
    assert masked("a" * 200_000 + "b", own) == "a" * 200_000 + "b"


def test_a_mask_that_fails_drops_its_text_alone_and_counts_it() -> None:
    def failing(texts: list[str]) -> list[str]:
        if any("bad" in text for text in texts):
            raise RuntimeError("no")
        return [text.replace("x", "[masked: x]") for text in texts]

    counts: Counter[str] = Counter()
    masks = Masks(steps=(("x", failing),), id_steps=())
    kept = masks.texts(["one x", "bad", "two"], counts, are_ids=False)
    assert kept == ["one [masked: x]", "[masked: unreadable]", "two"]
    assert counts == {"x": 1, "unreadable": 1}


PIECES = (
    "4111 1111 1111 1111",
    "joe@example.com",
    "password=x",
    "DE89370400440532013000",
    " ",
    "é",
)


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PIECES, "a", "é", "77"])), st.sampled_from(' \n,;"\\'))
def test_masking_twice_is_masking_once(pieces: list[str], between: str) -> None:
    once = masked(between.join(pieces))
    assert masked(once) == once


@settings(deadline=None)
@given(st.text(max_size=12), st.sampled_from(PIECES), st.text(max_size=12))
def test_whatever_is_masked_is_suspected_first(before: str, found: str, after: str) -> None:
    text = f"{before} {found} {after}".encode("utf-8", "replace").decode()
    if masked(text) != text:
        record = orjson.dumps([text])
        assert masks_of(ALL).suspects([record]) == [True]


def test_the_mark_says_what_it_was() -> None:
    assert re.fullmatch(r"\[masked: \w+\]", masked("joe@example.com"))
