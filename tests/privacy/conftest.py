"""Secrets of every kind to plant, and a walk that looks for them in every place of a ledger."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ingest.ledger import open_for_reading
from ingest.receiver.intake import unpacked

HIDDEN = "zq-h1dden-zq"
ANY_FINGERPRINT = re.compile(r"\bv\d+k?:[0-9a-f]{64}\b")


def card(number: int) -> str:
    """A card number for each `number` up to 10**8, right by Luhn's check."""
    begin = f"4242424{number:08d}"
    total = 0
    for place, digit in enumerate(reversed(begin)):
        value = int(digit) * (2 - place % 2)
        total += value - 9 if value > 9 else value
    return f"{begin}{-total % 10}"


class Plant:
    """Texts that hold a secret of each kind, each of its own, and what must be nowhere later."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.words: dict[str, str] = {}

    def text(self, where: str, *, is_id: bool = False) -> str:
        """A text for the place `where`, with secrets that a mask finds; of an id bare digits stay,
        so there the card is in groups."""
        number = len(self.secrets)
        digits = card(number)
        found = {
            "key": f"sk-pl4nted{number:05d}Abcdef",
            "email": f"pl4nted{number}@example.com",
            "card": " ".join(digits[at : at + 4] for at in range(0, 16, 4)) if is_id else digits,
            "password": f"{HIDDEN}{number}z",
        }
        self.secrets.update({value: f"{kind} in {where}" for kind, value in found.items()})
        return (
            f"{found['key']} by {found['email']} paid {found['card']} password={found['password']}"
        )

    def content(self, where: str) -> str:
        """A text for a place that is content: words that no mask knows, and secrets."""
        word = f"qwzx{len(self.words):04d}recipe"
        self.words[word] = where
        return f"the {word} of {self.text(where)}"

    def secrets_in(self, folder: Path) -> set[str]:
        """The places of the secrets that are found in any table or any file under `folder`."""
        return _found(self.secrets, folder)

    def words_in(self, folder: Path) -> set[str]:
        """The places of the words that are found in any table or any file under `folder`."""
        return _found(self.words, folder)


@pytest.fixture
def plant() -> Plant:
    """Secrets for one test."""
    return Plant()


@pytest.fixture(name="texts_of")
def _texts_of() -> Callable[[Path], Iterator[str]]:
    """The walk through all that is stored."""
    return texts_of


@pytest.fixture
def any_fingerprint() -> re.Pattern[str]:
    """Matches what stands for a text whose hash is stored."""
    return ANY_FINGERPRINT


def texts_of(folder: Path) -> Iterator[str]:
    """All that is stored under `folder`: rows of ledgers and inboxes, unpacked, and raw bytes."""
    for path in sorted(folder.glob("*.duckdb*")):
        if path.name.endswith(".duckdb"):
            yield from _rows_of_ledger(path)
        if path.name.endswith(".inbox"):
            yield from _rows_of_inbox(path)
        yield path.read_bytes().decode("latin-1")


def _rows_of_ledger(path: Path) -> Iterator[str]:
    with open_for_reading(path) as ledger:
        names = ledger.connection.execute("select table_name from duckdb_tables()").fetchall()
        assert len(names) > 15
        for (name,) in names:
            table = ledger.connection.table(name).to_arrow_table()
            yield from (str(list(row.values())) for row in table.to_pylist())


def _rows_of_inbox(path: Path) -> Iterator[str]:
    with sqlite3.connect(path) as connection:
        for row in connection.execute("select * from arrivals").fetchall():
            yield str(row)
            rows, rejects, _ = unpacked(row[6])
            yield from (str(table.to_pylist()) for table in (rows, rejects))


def _found(planted: dict[str, str], folder: Path) -> set[str]:
    pattern = re.compile("|".join(map(re.escape, planted)))
    return {planted[word] for text in texts_of(folder) for word in pattern.findall(text)}
