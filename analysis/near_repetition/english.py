"""English questions as tokens: frames of politeness left out, numbers read, prepositions as marks.

Owns what may be left out of an English question without asking another one. Refuses to stem verbs.
"""

import re
from collections.abc import Sequence

from analysis.near_repetition.numerals import (
    DIGITS,
    digits_text,
    english_number,
    multiple,
    ordinal,
)
from analysis.near_repetition.tokens import Token, Words, words_of

_PIECE = re.compile(
    r"(?P<date>\d{1,4}([/.-])\d{1,2}\2\d{1,4}(?!\d))"
    r"|(?P<time>\d{1,2}(?::\d{2})?\s?(?i:[ap]\.?m)\b\.?|\d{1,2}:\d{2}(?::\d{2})?)"
    rf"|(?P<number>(?<![\w.])-?{DIGITS}(?=[a-zA-Z]{{0,4}}\b|%)(?![\d_]))"
    r"|(?P<word>[^\W_](?:[\w+#]|[-'.@/&](?=\w))*[+#]*)"
    r"|(?P<operator>[!<>=]=+|[-=]>|<-|\|\||&&|\+\+|--)"
    r"|(?P<end>[.!?;:,\n]+)"
    r"|(?P<symbol>[^\w\s\"'])"
)
_CONTRACTED = re.compile(r"\b(\w+?)(n't|'(?:s|re|m|ll|ve|d))(?!\w)", re.IGNORECASE)
_SHORT = {
    "'s": " 's", "'re": " are", "'m": " am", "'ll": " will", "'ve": " have", "'d": " would",
}  # fmt: skip
_IS = r"\b(what|where|who|how|when|why|it|that|there|here)'s\b"
_IRREGULAR = {"won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not"}
_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?\s?([ap])", re.IGNORECASE)
_CLAUSE = "|"
"""Where a clause ends: a particle before it belongs to the verb."""


def english_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of `text`, in NFKC and with plain quotes, in their order."""
    table = words_of("english")
    pieces = _pieces(_expanded(text))
    return tuple(_marked(_framed(pieces, table), table))


def _expanded(text: str) -> str:
    for short, full in _IRREGULAR.items():
        text = re.sub(rf"\b{short}\b", full, text, flags=re.IGNORECASE)
    text = re.sub(_IS, r"\1 is", text, flags=re.IGNORECASE)
    return _CONTRACTED.sub(
        lambda found: (
            f"{found[1]} not"
            if found[2].lower() == "n't"
            else f"{found[1]}{_SHORT[found[2].lower()]}"
        ),
        text,
    )


def _pieces(text: str) -> list[Token]:
    """Words in lower case, numbers, times and signs; names are told by their capitals."""
    found: list[Token] = []
    is_first = True
    for match in _PIECE.finditer(text):
        kind, raw = match.lastgroup or "word", match.group()
        if kind == "end":
            found.append(Token("end", _CLAUSE))
            is_first = is_first or raw[0] != ","
            continue
        if kind == "time":
            found.append(Token("date", _time_text(raw)))
        elif kind == "word":
            found.append(_word(raw, is_first=is_first))
        elif kind == "number":
            found.append(Token("number", digits_text(raw.lstrip("-"))))
            found += [Token("word", "minus")] if raw.startswith("-") else []
        else:
            found.append(Token("date" if kind == "date" else "word", raw))
        is_first = False
    return found


def _word(raw: str, *, is_first: bool) -> Token:
    """A name where capitals or digits say so; else a word in lower case."""
    has_capital = any(letter.isupper() for letter in raw[1:])
    is_capital = raw[0].isupper() and not is_first and raw != "I"
    is_short = raw.isupper() and len(raw) == 1
    if (
        has_capital
        or any(letter.isdigit() or letter in "_+#" for letter in raw)
        or (is_capital and is_short)
    ):
        acronym = raw if raw.isupper() and len(raw) <= 3 else raw.lower()
        return Token("name", acronym)
    if is_capital and raw in words_of("english").raw["names"]["cased"]:
        return Token("name", raw)
    return Token("name" if is_capital else "word", raw.lower())


def _time_text(raw: str) -> str:
    found = _TIME.match(raw)
    if found is None:
        return raw
    return f"{int(found[1])}:{found[2] or '00'}{found[3].lower()}m"


def _framed(pieces: Sequence[Token], table: Words) -> list[Token]:
    """`pieces` with frames replaced by what is left of them, and numbers in words by numbers."""
    found: list[Token] = []
    place = 0
    while place < len(pieces):
        step, emitted = _next(pieces, place, found, table)
        found += emitted
        place += step
    return found


def _next(
    pieces: Sequence[Token], place: int, before: Sequence[Token], table: Words
) -> tuple[int, list[Token]]:
    """How many pieces from `place` on are read at once, and what they become."""
    words = [piece.value for piece in pieces[place : place + 6]]
    for length in range(len(words), 0, -1):
        phrase = " ".join(words[:length])
        is_plain = length > 1 or pieces[place].kind == "word"
        if is_plain and phrase in table.frames:
            return length, [Token(table.kind_of(w, "word"), w) for w in table.frames[phrase]]
    if (spelt := english_number(words)) is not None and pieces[place].kind == "word":
        return spelt[0], [Token("number", str(spelt[1]))]
    if pieces[place].kind == "number" and len(words) > 1 and (by := multiple(words[1])):
        return 2, [Token("number", digits_text(words[0], times=by))]
    if (rank := ordinal(words[0])) is not None and not (before and before[-1].kind == "number"):
        return 1, [Token("number", f"no. {rank}")]
    if (
        words[0] in {"last", "next", "this"}
        and words[1:2]
        and words[1] in table.raw["date"]["spans"]
    ):
        return 2, [Token("date", f"{words[0]} {words[1]}")]
    return 1, [pieces[place]]


def _marked(pieces: Sequence[Token], table: Words) -> list[Token]:
    """Content alone, each with the preposition before it; particles of verbs are content."""
    found: list[Token] = []
    mark, verb = "", 0
    dropped = frozenset(table.raw["dropped"]["words"])
    for place, piece in enumerate(pieces):
        following = pieces[place + 1].value if place + 1 < len(pieces) else _CLAUSE
        verb = 4 if piece.value in table.raw["phrasal"]["verbs"] else verb - 1
        is_begin = place == 0 or pieces[place - 1].kind == "end"
        if piece.kind == "end":
            mark = ""
        elif is_begin and piece.kind == "word" and piece.value in table.raw["dropped"]["asking"]:
            found.append(Token("question", "<whether>"))
        elif verb >= 0 and _is_particle(piece, following, verb, table):
            found.append(Token("word", f"~{piece.value}"))
        elif piece.kind == "word" and piece.value in table.weak | table.strong:
            mark = piece.value
        elif piece.kind != "word" or piece.value not in dropped:
            found.append(_content(piece, mark, table))
            mark = ""
    if mark:
        found.append(Token("word", mark))
    return found


def _is_particle(piece: Token, following: str, since_verb: int, table: Words) -> bool:
    """Whether "on" and the like belong to the verb: right behind it, or at the end of a clause."""
    if piece.kind != "word" or piece.value not in table.raw["phrasal"]["particles"]:
        return False
    is_last = following == _CLAUSE or following in table.weak | table.strong
    return since_verb == 3 or is_last


def _content(piece: Token, mark: str, table: Words) -> Token:
    value = piece.value
    if piece.kind in {"word", "name"} and value not in table.kinds:
        value = _singular(value, table)
    value = table.canonical.get(value, value)
    return Token(table.kind_of(value, piece.kind), value, mark)


def _singular(word: str, table: Words) -> str:
    if len(word) < 4 or word.endswith("ss") or word in table.raw["plural"]["no_plural"]:
        return word
    if word.endswith("ies") and len(word) > 5:
        return f"{word[:-3]}y"
    return word.removesuffix("s")
