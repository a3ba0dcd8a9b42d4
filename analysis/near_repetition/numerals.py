"""Numbers as they are written: digits, words, kanji, full width; one value, one text.

Owns the reading of numerals. Refuses to read one inside of a word or an id.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

_KANJI_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "億": 10**8, "兆": 10**12}
KANJI_NUMERAL = re.compile(r"[〇一二三四五六七八九十百千万億兆]+")
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
"""A number in digits; commas part thousands."""

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = {
    **{word: value for value, word in enumerate(_UNITS)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
}
_MULTIPLES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12,
}  # fmt: skip
_ORDINALS = {
    word: place
    for place, word in enumerate(
        ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
        start=2,
    )
}


def digits_text(digits: str, *, times: int = 1) -> str:
    """One text of what `DIGITS` matches, times `times`.

    Zeros stay: version 1.10 is not version 1.1, and 007 is not 7.
    """
    plain = digits.replace(",", "")
    return plain if times == 1 else format((Decimal(plain) * times).normalize() + 0, "f")


def kanji_value(text: str) -> int:
    """The number that kanji of `KANJI_NUMERAL` spell, by place (二〇) or by unit (二十)."""
    if all(sign in _KANJI_DIGITS for sign in text):
        return int("".join(str(_KANJI_DIGITS[sign]) for sign in text))
    total = section = digit = 0
    for sign in text:
        if sign in _KANJI_DIGITS:
            digit = digit * 10 + _KANJI_DIGITS[sign]
        elif sign in _SMALL:
            section, digit = section + (digit or 1) * _SMALL[sign], 0
        else:
            total, section, digit = total + (section + digit or 1) * _LARGE[sign], 0, 0
    return total + section + digit


def large_unit(sign: str) -> int | None:
    """What 千, 万, 億 or 兆 behind digits multiplies them by."""
    return {**_SMALL, **_LARGE}.get(sign)


def english_number(words: Sequence[str]) -> tuple[int, int] | None:
    """How many of the first `words` spell a number, and which; None where they do not."""
    total, current, used = 0, 0, 0
    for word in words:
        if word in _ENGLISH:
            current += _ENGLISH[word]
        elif word in _MULTIPLES and (used or word != "dozen"):
            current = (current or 1) * _MULTIPLES[word]
            if _MULTIPLES[word] >= 1000:
                total, current = total + current, 0
        elif word == "dozen":
            current = 12
        else:
            break
        used += 1
    return (used, total + current) if used else None


def multiple(word: str) -> int | None:
    """What "million" and the like behind digits multiplies them by."""
    return _MULTIPLES.get(word)


def ordinal(word: str) -> int | None:
    """The place that `word` names, second to tenth, or 2nd, 3rd and so on."""
    found = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word)
    return int(found.group(1)) if found else _ORDINALS.get(word)
