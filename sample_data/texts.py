"""The few short texts that the telemetry carries: questions, tickets, contracts, tool arguments.

Owns wording. Refuses names of people.
"""

import json
from random import Random

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
TOOLS = ("search_tickets", "get_order", "get_invoice", "list_shipments")


def question(number: int) -> str:
    """The question with this number, 0 to 299."""
    return f"How do I {ACTIONS[number % 15]} {OBJECTS[number // 15]}?"


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
