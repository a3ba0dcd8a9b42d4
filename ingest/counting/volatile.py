"""Text that looks as if it differed from call to call: instants, ids, numbers, users, values.

Owns the patterns, in English and Japanese. What they find may be the same in every call: only
calls beside each other tell, which is the question `volatile_prefixes`. Refuses to look at what a
text means, and beyond its beginning.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

KINDS = ("time", "id", "number", "user", "other")
"""What a volatile text is; its number in the ledger is its place here, from 1."""
MAX_CHARACTERS = 16_384
"""Of a prompt so much is looked at: some 4,000 tokens of English."""
MAX_SPANS = 64
"""Of a prompt; what comes after them stays where it is."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_WEEKDAY = r"(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b"
_WEEKDAY_JA = r"(?:\s?[（(]?[月火水木金土日](?:曜日?)?[）)]|\s?[月火水木金土日]曜日?)"
_DATES = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)",
    r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?![\d.])",
    r"20\d{6}(?!\d)",
    rf"(?:{_WEEKDAY},?\s)?\d{{1,2}}(?:st|nd|rd|th)?[ -](?:of )?{_MONTH}(?:,?[ -]\d{{4}})?",
    rf"(?:{_WEEKDAY},?\s)?{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s\d{{4}})?",
    r"(?:\d{4}|(?:令和|平成|昭和)\s?(?:元|\d{1,2}))\s?年\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?日)?",
    r"\d{1,2}\s?月\s?\d{1,2}\s?日",
)
_ZONE = r"(?:\s?(?:Z\b|UTC|GMT|JST|[ECMP][SD]T\b|CES?T\b|[+-]\d{2}:?\d{2})){0,2}"
_CLOCK = (
    r"(?:\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
    r"|\d{1,2}\s?[AaPp][Mm]\b"
    r"|(?:午前|午後)?\s?\d{1,2}\s?時(?:半|\s?\d{1,2}\s?分(?:\s?\d{1,2}\s?秒)?)?(?!間)"
    rf"){_ZONE}"
)
_DATE = rf"(?:{'|'.join(_DATES)}){_WEEKDAY_JA}?"
_TIME = (
    rf"{_DATE}(?:(?:T|,?\s(?:at\s)?|\s?){_CLOCK}|T\d{{4,6}}Z?)?|{_CLOCK}"
    r"|1[0-9]{9}(?:[0-9]{3}){0,3}(?:\.\d{1,9})?(?![\d.,-])"
)
_ID = (
    r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
    r"|[A-Za-z]{2,12}(?:[_-][A-Za-z]{2,12})?[_-](?=[A-Za-z]{0,30}\d)[0-9A-Za-z]{4,64}"
    r"(?:[_-][0-9A-Za-z]{1,64}){0,4}"
    r"|(?:0x)?(?=\d{0,30}[A-Fa-f])(?=[A-Fa-f]{0,30}\d)[0-9A-Fa-f]{8,128}(?![0-9A-Za-z])"
    r"|(?=[A-Za-z]{0,30}\d)(?=\d{0,30}[A-Za-z])[0-9A-Za-z]{16,128}(?![0-9A-Za-z])"
)
_EMAIL = r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,39}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"
_NUMBER = r"\d{1,3}(?:[,，]\d{3})+(?:\.\d+)?|\d{5,}(?:\.\d+)?"
_FORMS = re.compile(
    r"(?:(?<![0-9A-Za-z])|(?<=\\n))"
    rf"(?:(?=[\dA-W午令平昭])(?P<time>(?!\d{{8}}-\w{{4}}-)(?:{_TIME}))(?![A-Za-z_]|\d)"
    rf"|(?=[A-Za-z_-]{{0,40}}\d)(?:(?P<id>{_ID})|(?P<number>{_NUMBER})(?![0-9A-Za-z]))"
    r"|(?=[#＃N№番第])(?:[#＃]|No\.|№|番号|第)\s?(?P<counter>\d++)(?![条章節項編]))"
)
_ADDRESS = re.compile(rf"(?<![0-9A-Za-z])(?P<user>{_EMAIL})")

_USER = (
    r"(?:user|customer|client|member|employee|account|caller|patient|contact|recipient|sender"
    r"|first|last|full)?[ _-]?name|user|customer|client|member|account(?: holder)?|e-?mail"
    r"|phone|address|ユーザー?(?:名)?|お客様(?:名)?|顧客(?:名)?|会員(?:名)?|氏名|お名前|名前|担当者(?:名)?"
    r"|宛先|住所|電話番号|メール(?:アドレス)?"
)
_TIMED = (
    r"(?:current |today'?s |local )?(?:date(?: and time|[ /_-]?time)?|time(?:stamp)?)|now|today"
    r"|day(?: of (?:the )?week)?|(?:現在|本日)?の?(?:日付|日時|時刻)|現在|本日|今日|曜日|時刻"
)
_NAMED = (
    r"(?:\w{1,20}[ _-])?(?:id|uuid|guid|nonce|hash|token)|(?:request|trace|session|ticket|order)"
    r"|(?:受付|注文|問い合わせ|会員|整理|伝票|予約)番号|(?:リクエスト|セッション|会話|注文|ユーザー?)ID"
)
_COUNTED = r"(?:turn|attempt|iteration|step|count(?:er)?|seq(?:uence)?|number|no|回数|件数|番号)"
_VALUED = (
    r"location|city|country|region|language|locale|time ?zone|plan|tier|device|os|browser|version"
    r"|user query|query|question|topic|keywords?"
    r"|場所|現在地|地域|都市|言語|契約プラン|プラン|端末|質問|検索語"
)
_LABEL = re.compile(
    rf"(?:(?P<time>{_TIMED})|(?P<id>{_NAMED})|(?P<number>{_COUNTED})|(?P<user>{_USER})"
    rf"|(?P<other>{_VALUED}))\Z",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"[:：=][ \t*\"']{0,4}(?P<value>[^\s/:：=,;；、。\"'{}\[\]<>|\\][^\n\"{}\[\]<>|\\]{0,199})"
)
_BEFORE_LABEL = re.compile(r"\\n|[\n,{(<\[|;；、。.!?]")
LONGEST_LABEL, LONGEST_VALUE = 40, 60
"""In characters; the value of a label of the kind "other" may be a question, of up to 200."""
_GREETED = re.compile(
    r"(?<![A-Za-z])(?:Dear|Hello|Hi)\s(?!(?:there|all|team|everyone|Sir|Madam)\b)"
    r"(?P<english>[A-Z][\w'-]{1,30}(?:\s[A-Z][\w'-]{1,30}){0,2})(?=[,!.\n])"
    r"|(?P<japanese>(?:[\u4e00-\u9fff々]{1,6}|[\u30a0-\u30ff]{2,12})"
    r"(?:[ \u3000][\u4e00-\u9fff々]{1,4})?)"
    r"(?=様|さん(?!か))"
)
_NOBODY = frozenset({"お客", "皆", "客", "御客", "各位", "奥", "神", "王", "同", "多", "仕"})
BEFORE, BEHIND = 40, 130
"""Characters before and behind a digit in which all of what it belongs to stands."""
_HAS_DIGIT, _HAS_ASCII_DIGIT = re.compile(r"[0-9０-９]{1,130}"), re.compile(r"[0-9]{1,130}")
_HAS_AT = re.compile("@")
_ADDRESSES = ("Dear ", "Hello ", "Hi ", "様", "さん")
_HAS_NAME = re.compile("|".join(_ADDRESSES))
_IN_WORDS = re.compile(r"[,;；、。](?=\s|[\"']|$|[A-Za-z_ ]{1,20}[:：=])")
_TRAILING = " \t.*_\"'"
_NEAR = re.compile(r"[\s,.;:/|()（）\[\]-]{0,3}\Z")


class VolatileText(NamedTuple):
    """Characters `begin` to before `end` of a text, and their kind."""

    begin: int
    end: int
    kind: str


def volatile_texts(text: str) -> list[VolatileText]:
    """What looks volatile in the first `MAX_CHARACTERS` of `text`, in order and without overlap.

    Blanks before it are part of it; what stands beside each other is one, of the kind of the first.
    """
    head = text[:MAX_CHARACTERS]
    found = sorted(
        each for find in (_forms, _labelled, _greeted) for each in islice(find(head), MAX_SPANS)
    )
    joined: list[VolatileText] = []
    for each in found:
        last = joined[-1] if joined else None
        if last is not None and (
            each.begin <= last.end or _NEAR.match(head, last.end, each.begin) is not None
        ):
            kind = last.kind if each.kind == last.kind else _stronger(last, each)
            joined[-1] = VolatileText(last.begin, max(last.end, each.end), kind)
        else:
            joined.append(each)
    return [_with_blanks(head, each) for each in joined[:MAX_SPANS]]


def _stronger(first: VolatileText, second: VolatileText) -> str:
    """Of two that touch the kind that its form shows: a label alone is the weaker sign."""
    return second.kind if first.kind == "other" else first.kind


def _with_blanks(text: str, found: VolatileText) -> VolatileText:
    """With the blanks before it: whether they belong to the next token depends on what follows."""
    begin = found.begin
    while begin > 0 and text[begin - 1] in " \t":
        begin -= 1
    return found._replace(begin=begin)


def _forms(text: str) -> Iterator[VolatileText]:
    """What is volatile by its form; only the surroundings of digits and of @ are looked at."""
    has_digit = _HAS_ASCII_DIGIT if text.isascii() else _HAS_DIGIT
    for trigger, forms in ((has_digit, _FORMS), (_HAS_AT, _ADDRESS)):
        for begin, end in _around(text, trigger):
            for found in forms.finditer(text, begin, end):
                kind = found.lastgroup or "other"
                start, stop = found.span(kind)
                yield VolatileText(start, stop, "number" if kind == "counter" else kind)


def _labelled(text: str) -> Iterator[VolatileText]:
    """The values of labels such as `User:`."""
    for found in _VALUE.finditer(text):
        before = text[max(0, found.start() - LONGEST_LABEL) : found.start()]
        label = _LABEL.match(_BEFORE_LABEL.split(before)[-1].strip(" \t*#>\"'-"))
        if label is None:
            continue
        kind = label.lastgroup or "other"
        start, stop = found.span("value")
        cut = _IN_WORDS.search(text, start, stop)
        stop = cut.start() if cut is not None and kind != "other" else stop
        while stop > start and text[stop - 1] in _TRAILING:
            stop -= 1
        if stop > start and (kind == "other" or stop - start <= LONGEST_VALUE):
            yield VolatileText(start, stop, kind)


def _greeted(text: str) -> Iterator[VolatileText]:
    """The names of those who are addressed."""
    if not any(address in text for address in _ADDRESSES):
        return
    for begin, end in _around(text, _HAS_NAME):
        for found in _GREETED.finditer(text, begin, end):
            name = found.lastgroup or ""
            if found[name] not in _NOBODY:
                yield VolatileText(*found.span(name), "user")


def _around(text: str, trigger: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The stretches of `text` around what `trigger` finds; those that touch are one."""
    begin = end = 0
    for hit in trigger.finditer(text):
        if hit.start() - BEFORE > end:
            if end:
                yield begin, end
            begin = hit.start() - BEFORE
        end = min(hit.end() + BEHIND, len(text))
    if end:
        yield max(begin, 0), end
