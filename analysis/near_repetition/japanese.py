"""Japanese questions as tokens: content by script, particles as marks, endings as what they add.

Owns what may be left out of a Japanese question without asking another one. Refuses to guess:
hiragana that does not read as particles and endings stays as it is written.
"""

import re
from functools import cache, lru_cache
from itertools import chain

from analysis.near_repetition.japanese_endings import (
    Ending,
    after_stem,
    behind_kanji,
    particle_mark,
    particles,
)
from analysis.near_repetition.numerals import (
    DIGITS,
    KANJI_NUMERAL,
    digits_text,
    kanji_value,
    large_unit,
)
from analysis.near_repetition.tokens import Token, Words, words_of

_RUNS = re.compile(
    r"(?P<date>\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}|\d{1,2}:\d{2})"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*(?:[-_.+#/@][A-Za-z0-9]+)*[+#]*)"
    rf"|(?P<number>(?<![\d.])-?{DIGITS})"
    r"|(?P<operator>[!<>=]=+|[-=]>|<-|\|\||&&|\+\+|--)"
    r"|(?P<katakana>[ァ-ヺー・]+)"
    r"|(?P<kanji>[㐀-鿿豈-﫿々〆ヶ])"
    r"|(?P<hiragana>[ぁ-ゖゝゞ]+)"
    r"|(?P<end>[。．.!?、,;:\n]+)"
    r"|(?P<symbol>[^\s\"'「」『』])"
)
_TO_KATAKANA = {sign: sign + 96 for sign in range(ord("ぁ"), ord("ゖ") + 1)}


def japanese_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of `text`, in NFKC, in their order."""
    table = words_of("japanese")
    found: list[Token] = []
    place = 0
    while place < len(text):
        place = _read(text, place, found, table)
    return tuple(
        token._replace(value=table.canonical.get(token.value, token.value))
        for token in _closed(found)
    )


def _read(text: str, place: int, found: list[Token], table: Words) -> int:
    """Reads what begins at `place` into `found`; where the next begins."""
    for length in range(min(_longest_frame(), len(text) - place), 0, -1):
        phrase = text[place : place + length]
        if phrase in table.frames:
            found += [Token(table.kind_of(w, "word"), w) for w in table.frames[phrase]]
            return place + length
    match = _RUNS.match(text, place)
    if match is None:
        return place + 1
    kind, raw = match.lastgroup or "symbol", match.group()
    if kind == "kanji":
        return _read_kanji(text, place, found, table)
    if kind == "hiragana":
        return _read_hiragana(text, place, raw, found, table)
    if kind == "number":
        return _read_number(text, place, raw, found)
    if kind != "end":
        value = raw.rstrip("ー") if kind == "katakana" else raw
        value = value if raw.isupper() else value.lower()
        label = kind if kind == "date" else "word" if kind in {"symbol", "operator"} else "name"
        found.append(Token(table.kind_of(value, label), value))
    else:
        found.append(Token("end", "|"))
    return match.end()


@cache
def _longest_frame() -> int:
    return max(map(len, words_of("japanese").frames))


def _read_number(text: str, place: int, raw: str, found: list[Token]) -> int:
    times, end = 1, place + len(raw)
    while end < len(text) and (by := large_unit(text[end])) is not None:
        times, end = times * by, end + 1
    sign = "-" if raw.startswith("-") else ""
    found.append(Token("number", sign + digits_text(raw.lstrip("-"), times=times)))
    return end


def _read_kanji(text: str, place: int, found: list[Token], table: Words) -> int:
    """A known word, a numeral with its counter, or kanji up to the next known thing."""
    listed = _word_at(text, place, table)
    if listed is not None:
        found.append(Token(table.kind_of(listed, "word"), listed))
        return place + len(listed)
    numeral = KANJI_NUMERAL.match(text, place)
    if numeral is not None and _is_counted(text, numeral.end(), place, table):
        found.append(Token("number", str(kanji_value(numeral.group()))))
        return numeral.end()
    if text[place] == "方" and place and "ぁ" <= text[place - 1] <= "ん":
        found.append(Token("question", "<how>"))
        return place + 1
    end = place + 1
    while end < len(text) and _is_more_kanji(text, end, table):
        end += 1
    value = text[place:end]
    found.append(Token(table.kind_of(value, "word"), value))
    return end


def _is_more_kanji(text: str, place: int, table: Words) -> bool:
    match = _RUNS.match(text, place)
    if match is None or match.lastgroup != "kanji" or _word_at(text, place, table) is not None:
        return False
    frames = (text[place : place + length] for length in range(2, _longest_frame() + 1))
    return not any(frame in table.frames for frame in frames)


def _is_counted(text: str, end: int, place: int, table: Words) -> bool:
    is_placed = place > 0 and text[place - 1] == "第"
    return is_placed or text[end : end + 1] in table.raw["counters"]["words"]


def _word_at(text: str, place: int, table: Words) -> str | None:
    """The longest word of the tables, of kanji alone, that begins at `place`."""
    for length in range(4, 0, -1):
        word = text[place : place + length]
        if len(word) == length and word in _kanji_words(table.raw["counters"]["words"][0]):
            return word
    return None


@lru_cache(maxsize=1)
def _kanji_words(_: str) -> frozenset[str]:
    """Words of the tables that are found inside of a run of kanji."""
    table = words_of("japanese")
    listed = chain(table.kinds, table.canonical, table.raw["counters"]["protected"])
    inside = (
        word for word in listed if len(word) > 1 and all("㐀" <= sign <= "鿿" for sign in word)
    )
    return frozenset(inside) | frozenset(table.raw["negation"]["inside"])


def _read_hiragana(text: str, place: int, run: str, found: list[Token], table: Words) -> int:
    """Hiragana as stem, endings and particle of what stands before; else as it is written."""
    limit = next((at for at in range(1, len(run)) if _begins_frame(text, place + at, table)), None)
    run = run if limit is None else run[:limit]
    before = found[-1] if found and found[-1].kind != "end" else None
    if before is not None and (read := after_stem(run, is_noun=True)) is not None:
        _append(found, before.value, read, table)
    elif verb := _verb_tokens(run, found, table):
        found += verb
    elif before is not None and (read := _stem_at(text, place, run, before)) is not None:
        is_noun = read.stem == "s" and len(before.value) > 1
        _append(found, before.value + ("" if is_noun else read.stem), read, table)
    else:
        found.append(_unread(run, table))
    return place + len(run)


def _append(found: list[Token], value: str, read: Ending, table: Words) -> None:
    """Writes `value` in place of the last token, with its particle and what the ending adds."""
    last = found[-1]
    found[-1] = Token(table.kind_of(value, last.kind), value, read.mark or last.mark)
    found += [Token(table.kind_of(word, "word"), word) for word in read.added]


def _stem_at(text: str, place: int, run: str, before: Token) -> Ending | None:
    """`run` as the stem of the verb whose kanji stands before it; する follows other words too."""
    read = behind_kanji(run) if before.kind != "number" else None
    if read is None or _is_kanji(text[place - 1]):
        return read
    return read._replace(stem="") if read.stem == "s" and before.value else None


def _begins_frame(text: str, place: int, table: Words) -> bool:
    most = min(_longest_frame(), len(text) - place)
    return any(text[place : place + length] in table.frames for length in range(most, 1, -1))


def _is_kanji(sign: str) -> bool:
    return "㐀" <= sign <= "鿿" or sign == "々"


def _verb_tokens(run: str, found: list[Token], table: Words) -> list[Token]:
    """A verb of the table and its ending, behind a particle or none; else nothing."""
    is_alone = not found or found[-1].kind == "end"
    for lead in ("",) if is_alone else particles():
        rest = run.removeprefix(lead)
        forms = _verb_forms() if run.startswith(lead) else ()
        for form, verb in forms:
            ending = after_stem(rest.removeprefix(form)) if rest.startswith(form) else None
            if ending is not None:
                if lead:
                    found[-1] = found[-1]._replace(mark=particle_mark(lead))
                words = [(verb, ending.mark), *((word, "") for word in ending.added)]
                return [Token(table.kind_of(word, "word"), word, mark) for word, mark in words]
    return []


def _unread(run: str, table: Words) -> Token:
    """A word in hiragana, as in katakana, with the particle that it ends in."""
    if run in table.kinds:
        return Token(table.kinds[run], run)
    end = next(p for p in particles() if (run.endswith(p) and len(run) - len(p) > 1) or not p)
    word = run[: len(run) - len(end)]
    if word in table.kinds:
        return Token(table.kinds[word], word, particle_mark(end))
    return Token("word", word.translate(_TO_KATAKANA), particle_mark(end))


@cache
def _verb_forms() -> tuple[tuple[str, str], ...]:
    forms = words_of("japanese").raw["verbs"].items()
    pairs = [(form, verb) for verb, written in forms for form in written]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def _closed(found: list[Token]) -> list[Token]:
    """`found` without ends of clauses; the topic of a question that ends there has no mark."""
    tokens = [token for token in found if token.kind != "end"]
    if tokens and tokens[-1].mark == "は":
        tokens[-1] = tokens[-1]._replace(mark="")
    return tokens
