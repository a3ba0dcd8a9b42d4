"""What measuring answers costs: ingest with `measure_answers` and without.

Run `python benchmarks/measure_answers.py [REQUESTS] [ROUNDS]`. Both run one after the other in each
round, on the same bytes, in CPU seconds of all threads; the median of the rounds' ratios is
printed. Spans are those of `ingest_otlp.py`, where every third span tells a prompt of 530 words and
an answer: none, prose of 100 words, or JSON of six rows.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import ingest_otlp
from ingest_otlp import TRACES_PER_REQUEST, Value, cpu_s, request

from ingest.config import Configuration
from ingest.counting.token_ids import token_memory
from ingest.deliver import deliver
from ingest.files import open_sources
from ingest.ledger import open_for_writing
from ingest.readers import reader_named

WORDS = (
    *("the", "a", "service", "order", "customer", "delivery", "was", "late", "because", "system"),
    *("returned", "error", "please", "check", "account", "settings", "and", "then", "restart"),
    *("device", "before", "you", "call", "support", "team", "again", "with", "number"),
)
CHAT_ATTRIBUTES = ingest_otlp.chat_attributes


def prose(random: Random, count: int) -> str:
    """So many words, every twelfth the last of a sentence."""
    words = (random.choice(WORDS) for _ in range(count))
    return " ".join(f"{word}." if at % 12 == 11 else word for at, word in enumerate(words))


def rows(random: Random) -> str:
    """JSON of six rows, indented as models write it."""
    items = [
        {"name": prose(random, 3), "price": random.randint(1, 99), "comment": prose(random, 6)}
        for _ in range(6)
    ]
    return json.dumps({"items": items}, indent=2)


def said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def with_texts(answer: Callable[[Random], str] | None) -> Callable[[int], dict[str, Value]]:
    """The attributes of a chat with its prompt and, where there is one, its answer."""

    def attributes(number: int) -> dict[str, Value]:
        random = Random(number)  # noqa: S311 - words, not secrets
        conversation = Random(number // 8)  # noqa: S311 - words, not secrets
        asked = [
            said("system", prose(conversation, 500)),
            said("user", f"{prose(random, 30)}?"),
        ]
        told = CHAT_ATTRIBUTES(number) | {"gen_ai.input.messages": json.dumps(asked)}
        if answer is not None:
            told["gen_ai.output.messages"] = json.dumps([said("assistant", answer(random))])
        return told

    return attributes


ANSWERS: dict[str, Callable[[Random], str] | None] = {
    "none": None,
    "prose": lambda random: prose(random, 100),
    "json": rows,
}


def ingest_s(path: Path, configuration: Configuration) -> float:
    """CPU seconds of one ingest into a new ledger, no text remembered."""
    token_memory.cache_clear()
    (source,) = open_sources([str(path)])
    reader = reader_named("otlp-protobuf")
    with tempfile.TemporaryDirectory() as folder:

        def ingest() -> None:
            with open_for_writing(Path(folder) / "l.duckdb") as ledger:
                deliver(ledger, source, reader, configuration)

        return cpu_s(ingest)


def main(request_count: int = 12, rounds: int = 5) -> None:
    spans = request_count * TRACES_PER_REQUEST * 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans.pb"
        for name, answer in ANSWERS.items():
            ingest_otlp.chat_attributes = with_texts(answer)  # type: ignore[assignment]  # texts too
            path.write_bytes(b"".join(request(number) for number in range(request_count)))
            ingest_s(path, Configuration())  # the first loads what all need
            pairs = [
                (
                    ingest_s(path, Configuration(measure_answers=False)),
                    ingest_s(path, Configuration()),
                )
                for _ in range(rounds)
            ]
            bare, measured = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratio = statistics.median(after / before for before, after in pairs)
            print(
                f"{name:>5}: {spans / bare:>7,.0f} spans/s/core without, "
                f"{spans / measured:>7,.0f} with; {ratio:.3f} × the time"
            )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
