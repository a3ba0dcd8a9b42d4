"""Numbers that look like something and are: cards, bank accounts, telephones, addresses.

Owns the checks beyond the form: Luhn and the issuer's digits of a card (ISO/IEC 7812), length and
check digits of an IBAN (ISO 13616), the digits of a telephone number (E.164: fifteen at most).
Refuses what fails them, so that ids and measurements stay as they are. Every pattern is bounded:
each place of a text is looked at a fixed number of times.
"""

import re
import unicodedata
from collections.abc import Callable
from ipaddress import ip_address

from ingest.masking.patterns import mark

Finder = Callable[[str], str]
"""A text with what was found in it replaced by its mark."""

_CARD = re.compile(
    r"(?<!\d)(?<!\d\.)"
    r"(?:(?<![^\W_])\d{12,19}(?![^\W_])"
    r"|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{4}([ -])\d{6}\2\d{4,5})"
    r"(?!\d)(?!\.\d)"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?= ?[A-Z0-9])")
"""Where one may begin: its end is where its country says."""

_PHONE = re.compile(
    r"(?<![\w+.-])(?:\+[1-9](?:[ ().-]{0,2}[0-9]){7,14}"
    r"|(?<!\d )(?:\(?[0-9]{3}\)?[ .-][0-9]{3}[.-][0-9]{4}"
    r"|\(?0[0-9]{1,4}\)?[ -][0-9]{1,4}[ -][0-9]{3,4})(?! \d))(?![\w-])(?!\.\d)"
)
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\w)"
    r"|(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{2,39}(?![\w:]))(?!\.\d)"
)

IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30,
    "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28,
    "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""Characters of an IBAN by country, of the registry that SWIFT keeps for ISO 13616."""

_IBAN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_LETTERS = {chr(code): str(code - 55) for code in range(ord("A"), ord("Z") + 1)}


def is_card(digits: str) -> bool:
    """Whether `digits` are the number of a payment card: issuer, length and Luhn's check digit."""
    return _has_issuer(digits) and _is_luhn(digits)


def _has_issuer(digits: str) -> bool:
    size, four = len(digits), int(digits[:4])
    if digits[0] == "4":
        return size in {13, 16, 19}
    if 5100 <= four <= 5599 or 2221 <= four <= 2720:
        return size == 16
    if digits[:2] in {"34", "37"}:
        return size == 15
    if 3000 <= four <= 3059 or digits[:2] in {"36", "38", "39"}:
        return 14 <= size <= 19
    if 3528 <= four <= 3589 or four == 6011 or 6440 <= four <= 6599 or digits[:2] in {"62", "81"}:
        return 16 <= size <= 19
    return four in {5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763} and size >= 12


def _is_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def without_cards(text: str) -> str:
    """`text` with each card number masked, also one in groups of digits."""
    return _CARD.sub(lambda found: _masked_if(is_card(_digits(found[0])), found[0], "card"), text)


def without_grouped_cards(text: str) -> str:
    """`text`, an id, with each card number masked that is written in groups: no id is."""

    def masked(found: re.Match[str]) -> str:
        is_grouped = found[1] is not None or found[2] is not None
        return _masked_if(is_grouped and is_card(_digits(found[0])), found[0], "card")

    return _CARD.sub(masked, text)


def without_ibans(text: str) -> str:
    """`text` with each IBAN masked whose length and check digits are right."""
    kept, done, place = [], 0, 0
    while found := _IBAN.search(text, place):
        begin, place = found.start(), found.end()
        compact, end = _iban_at(text, begin)
        if compact and not text[end : end + 1].isalnum() and _is_checked(compact):
            kept += [text[done:begin], mark("iban")]
            done = place = end
    return "".join([*kept, text[done:]])


def _iban_at(text: str, begin: int) -> tuple[str, int]:
    """The characters from `begin` that its country gives an IBAN, without blanks, and their end."""
    size = IBAN_LENGTHS.get(text[begin : begin + 2], 0)
    compact, end = "", begin
    while len(compact) < size:
        character = text[end : end + 1]
        if character in _IBAN_CHARACTERS:
            compact += character
        elif character != " " or text[end - 1] == " ":
            return "", end
        end += 1
    return compact, end


def _is_checked(compact: str) -> bool:
    moved = "".join(_LETTERS.get(character, character) for character in compact[4:] + compact[:4])
    return int(moved) % 97 == 1


def without_phones(text: str) -> str:
    """`text` with each telephone number masked: international, or national in groups."""
    return _PHONE.sub(
        lambda found: _masked_if(8 <= len(_digits(found[0])) <= 15, found[0], "phone"), text
    )


def without_addresses(text: str) -> str:
    """`text` with each IP address masked, of version 4 or 6."""
    return _ADDRESS.sub(lambda found: _masked_if(_is_address(found[0]), found[0], "ip"), text)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _masked_if(is_found: bool, text: str, name: str) -> str:
    return mark(name) if is_found else text


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(c)) for c in text if c.isdigit())


FINDERS: dict[str, Finder] = {
    "iban": without_ibans,
    "card": without_cards,
    "phone": without_phones,
    "ip": without_addresses,
}
