"""The few texts that the telemetry carries: rules, questions, tickets, contracts, tool arguments.

Owns wording. Refuses names of people.
"""

import json
from datetime import datetime
from functools import cache
from random import Random
from zoneinfo import ZoneInfo

from sample_data import company
from sample_data.planned import ToolUse

ACTIONS = (
    "change", "cancel", "renew", "export", "share", "archive", "restore", "merge", "transfer",
    "verify", "upgrade", "limit", "audit", "rotate", "translate",
)  # fmt: skip
OBJECTS = (
    "a subscription", "an invoice", "a workspace", "an access key", "a delivery address",
    "a support plan", "a purchase order", "a shared folder", "a monthly report", "a webhook",
    "an expense claim", "a warranty", "a data export", "a service contract", "a price list",
    "an approval rule", "a shipment", "a refund", "a training booking", "a test account",
)  # fmt: skip
PLACES = ("the start page", "the settings", "the archive", "the help desk")
TOOLS = ("search_tickets", "get_order", "get_invoice", "list_shipments")


def question(number: int) -> str:
    """The question with this number, 0 to 299."""
    return f"How do I {ACTIONS[number % 15]} {OBJECTS[number // 15]}?"


@cache
def handbook_rules() -> str:
    """The head of the instructions that every question about the handbook is sent with."""
    rules = [
        f"{number}. Who wants to {ACTIONS[number * 4 % 15]} {OBJECTS[number % 20]} begins at "
        f"{PLACES[number % 4]}, step {number % 7 + 1} of chapter {number + 2}; name the form "
        f"H-{number * 37 % 400 + 100} and its term of {number * 11 % 26 + 2} working days."
        for number in range(1, 41)
    ]
    return "\n".join(("Answer from the passages of the handbook, by these rules.", *rules))


def rules_after_the_time(instant: int) -> str:
    """The same instructions behind a line that tells the time, `instant`, to the millisecond."""
    whole_s, rest_ns = divmod(instant, company.SECOND_NS)
    local = datetime.fromtimestamp(whole_s, tz=ZoneInfo(company.ZONE))
    return f"{local:%H:%M:%S}.{rest_ns // 1_000_000:03d}, {local:%Y-%m-%d}\n{handbook_rules()}"


def fee_question(number: int) -> str:
    """Another question, with this number, 0 to 299."""
    return f"Is there a fee, and who pays it, to {ACTIONS[number % 15]} {OBJECTS[number // 15]}?"


def chat_message(random: Random, *, is_faq: bool) -> str:
    """A first message: one of a few frequent ones, or a ticket of its own."""
    if is_faq:
        return question(min(int(random.expovariate(1 / 12.0)), 59))
    return f"Draft a reply to ticket T-{random.randrange(10_000, 99_999)}, polite and complete."


def contract(number: int) -> str:
    """The instruction for one contract."""
    return f"Extract parties, amounts and dates from contract C-{4_000 + number}."


def tool_use(random: Random) -> ToolUse:
    """One tool with its arguments; the duration is the caller's."""
    name = random.choice(TOOLS)
    number = random.randrange(1_000, 9_999)
    return ToolUse(
        name=name,
        arguments=json.dumps({"id": number, "page": 1}, separators=(",", ":")),
        result=json.dumps({"rows": random.randrange(1, 9), "of": number}, separators=(",", ":")),
        duration_s=0.2,
    )
