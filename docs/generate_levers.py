"""Writes docs/levers.md: the levers and the columns of `gpuledger levers`.

Owns the form of that page. The levers are those of `analysis/levers.toml`.

    python docs/generate_levers.py
"""

from pathlib import Path

from analysis.detections.known import levers_known, tiers_known
from analysis.lever_lines import ATTRIBUTED

PAGE = Path(__file__).resolve().parent / "levers.md"
MADE_BY = (
    "<!-- Made by docs/generate_levers.py from analysis/levers.toml and that file; edit those. -->"
)

COLUMNS = {
    "lever": "the name of the lever",
    "number": "its number, 1 to 44",
    "letter": "the letters of the law that it moves; `latency` where it saves waiting time; null "
    "where neither",
    "tier": "what it can change in an answer: 0 to 3, below",
    "applies": "`yes`, `no`, or `unknown` where the ledger does not hold what is needed",
    "attributed_gpu_seconds": "GPU-seconds charged to what would not happen, given the levers "
    "above",
    "alone_gpu_seconds": "the same, if it were the only lever",
    "busy_ratio": "attributed GPU-seconds over those of all calls that began in the window, 0 to 1",
    "attributed_cost": "what the attributed GPU-seconds cost, each at its own price; of calls "
    "priced by the token, attributed tokens times price",
    "alone_cost": "the same, if it were the only lever",
    "currency": "of the costs; null for GPU-seconds without a price",
    "bill_ratio": "attributed cost over the cost of all these calls in that currency, idle time "
    "left out, 0 to 1",
    "unpriced_call_count": "calls that it saves, all or in part, of which the price is not known "
    "or does not tell that part",
    "evidence": "what was found: calls, GPU-seconds, money, and the endpoint where most of it is",
    "missing": "what is needed to say more",
    "evaluate": "what tells its effect: `ledger`, `replay`, `model`, `endpoint`",
    "risk": "what can go wrong, which has to be looked at first",
}
"""Column to what it is."""

INTRO = f"""# Levers

`gpuledger levers` says of each of 44 changes whether it applies here, by which evidence, and what
it would save. `--applies yes` shows those that do; `--where`, `--since`, `--until` and `--tz`
choose the calls. What changes no answer comes first, then the larger saving.

A GPU-second is saved once. In the order of the plan each lever is given what those above it leave:
its own saving stands beside it as `alone`. Of two claims on the same part of a call the larger
counts; only claims on parts of one partition (below) are on different tokens and add up. So the
attributed savings add up to what all levers save together, and no token is in it twice.

What is {ATTRIBUTED}.

Levers 22 to 27 take tokens out of answers and prompts. Where those of them that claim tokens save
less than 0.01 % of the bill, they do not apply: a few tokens too many are in any traffic.

A lever that cannot be judged from what was ingested is `unknown`, and `missing` says what it needs.
Where a lever saves several currencies it has a line for each."""


def page() -> str:
    """The text of the page."""
    columns = [f"| `{name}` | {meaning} |" for name, meaning in COLUMNS.items()]
    tiers = [f"| {t.tier} | {t.name} | {t.change} | {t.show} |" for t in tiers_known()]
    levers = [
        f"| {one.number} | {one.name} | {one.letter or '–'} | {one.tier} | "
        f"{', '.join(one.evaluate)} | {one.partition or '–'} | {one.needs} | {one.risk} |"
        for one in levers_known()
    ]
    parts = [
        MADE_BY,
        INTRO,
        "## Columns",
        _table("| column | what it is |", columns),
        "## Tiers",
        _table("| tier | name | what can change | what it has to show first |", tiers),
        "## The levers",
        _table(
            "| # | lever | letter | tier | evaluate | partition | needs | what can go wrong |",
            levers,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: list[str]) -> str:
    rule = "|" + " --- |" * (head.count("|") - 1)
    return "\n".join([head, rule, *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
