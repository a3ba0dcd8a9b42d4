"""The answers and the long prompts of which the telemetry tells the text.

Owns what is written into them: JSON with words around it, sentences that say nothing, pages with
their menus, pages that are there twice. Refuses to draw lengths: a text is about as long as the
tokens say.
"""

import json
from functools import cache
from random import Random

from sample_data.texts import ACTIONS, OBJECTS

PREAMBLE = "Here is the information that I found in the contract:\n\n"
TRAILING = "\n\nThe amounts are those of the contract; please check them before you use them."
RESTATED = "You asked: "
CLOSING = "Please do not hesitate to contact us if you have any further questions."
ROW_TOKENS, SENTENCE_TOKENS = 24, 17

MENU = (
    '<nav><a href="/">Home</a> | <a href="/products">Products</a> | <a href="/support">Support</a> '
    '| <a href="/contact">Contact</a></nav>'
)
FOOTER = "<footer>All rights reserved.</footer>"


@cache
def extraction_rules() -> str:
    """The instructions and examples that every contract is sent with."""
    shown = "\n".join(
        f"Contract: between party A{number} and party B{number}, {number * 1_500} USD, due on "
        f"2026-0{number}-01\nAnswer: {_rows(1, number)}"
        for number in range(1, 7)
    )
    return f"Answer with an object in JSON and nothing else.\n<examples>\n{shown}\n</examples>"


def extracted(number: int, tokens: int, *, has_preamble: bool, has_trailing: bool) -> str:
    """The parties, amounts and dates of a contract as JSON, with words around it or none."""
    listed = _rows(max(1, tokens // ROW_TOKENS), number)
    before, after = PREAMBLE if has_preamble else "", TRAILING if has_trailing else ""
    return f"{before}{listed}{after}"


def _rows(count: int, number: int) -> str:
    rows = [
        {
            "party_name": f"party {'AB'[row % 2]}{number}",
            "amount_in_usd": (number + row) % 40 * 500,
            "due_date": f"2026-{(number + row) % 12 + 1:02d}-01",
        }
        for row in range(count)
    ]
    return json.dumps({"items": rows}, separators=(",", ":"))


def reply(random: Random, tokens: int, *, restated: str | None, has_closing: bool) -> str:
    """An answer in prose, which may say the question again and close with a phrase."""
    sentences = [] if restated is None else [f"{RESTATED}{restated}"]
    sentences += [_sentence(random) for _ in range(max(3, tokens // SENTENCE_TOKENS))]
    return " ".join([*sentences, CLOSING] if has_closing else sentences)


def _sentence(random: Random) -> str:
    return (
        f"To {random.choice(ACTIONS)} {random.choice(OBJECTS)}, see step {random.randint(1, 9)} of "
        f"chapter {random.randint(1, 99)} and wait for {random.randint(2, 90)} minutes."
    )


def pages(random: Random, *, is_first_repeated: bool) -> str:
    """Three pages of a site to be summarised, as they were fetched; the third may be the first."""
    found = [_page(random) for _ in range(3)]
    if is_first_repeated:
        found[2] = found[0]
    documents = "\n".join(f"<document>\n{page}\n</document>" for page in found)
    return f"Summarize these pages for the support team.\n{documents}"


def documents(message: str) -> list[str]:
    """The pages that stand in such a message."""
    return [part.split("\n</document>")[0] for part in message.split("<document>\n")[1:]]


def _page(random: Random) -> str:
    body = " ".join(_sentence(random) for _ in range(11))
    return f"{MENU}\n<p>{body}</p>\n{FOOTER}"
