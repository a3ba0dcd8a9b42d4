"""Which letter moved: the change of the bill between two periods, split over the letters.

Owns what belongs to no letter: groups that are new or retired, what replays used of a pool, and
idle time, whose change is that of price, provisioned and busy. Refuses a residual: the changes of
all lines add up to the change of the bill, the effects of a line to its change.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.columns import TIME_COLUMNS, checked_groups
from analysis.errors import NoDataError, WrongQuestionError
from analysis.facts import Facts
from analysis.idle_moves import IDLE_EFFECTS, NO_IDLE_EFFECTS, idle_effects
from analysis.law import LawLines, law_lines
from analysis.letters import price_per_s
from analysis.lines import MONEY, is_replayed, line_rows
from analysis.money import total_of
from analysis.moves import EFFECTS, NO_EFFECTS, Row, effects_of, volume_and_mix
from analysis.scan import Scan, scanned
from analysis.selection import Filters
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="explain",
    question="Which letter of the law moved the bill from one period to the other?",
    grain="a group and its basis; idle time per pool; a total in each currency",
    unit="money per letter, of idle time per cause, adding up to the change",
    params="two periods; columns to group by, none of time; a filter",
    nulls="an effect is null for a letter that the line has not: those of the law where line is "
    "new, retired, idle or replays, those of idle time on every other line",
    identity="cost_to - cost_from = change; the effects of a line add up to its change, but where "
    "line is new, retired or replays; volume_effect + mix_effect = N_effect, of which they are "
    "parts; the changes of all lines add up to that of the total",
)

IDLE_EFFECT_COLUMNS = tuple(f"{cause}_effect" for cause in IDLE_EFFECTS)
EFFECT_COLUMNS = tuple(f"{letter}_effect" for letter in EFFECTS)
MIX_COLUMNS = ("volume_effect", "mix_effect")
"""The two parts of `N_effect`: more calls in all, and a larger share of them."""
COST_COLUMNS = ("cost_from", "cost_to", "change")
NOTHING = Decimal(0)
NS_PER_HOUR = 3_600_000_000_000
LONGER = 1.1
"""By so much more one period is said to be longer; months differ by less."""
REPLAYS = "replays"
"""What a line is called here that replays used of a pool: no call, and no letter."""
ABSENT: Row = {"cost": NOTHING, "N": None, "idle": None}
"""A line in a period that has it not."""


def explain(
    ledger: Ledger,
    configuration: Configuration,
    *,
    before: Window,
    after: Window,
    by: Sequence[str] = ("endpoint",),
    where: Filters | None = None,
    scan: Scan = scanned,
) -> Answer:
    """The change of cost from `before` to `after` by the columns `by`, in money per letter.

    A row a group, one of idle time per pool, and one `total` in each currency: `cost_from`,
    `cost_to`, `change`, and `<letter>_effect` for each letter, all in money. `tokens_effect` is
    of tokens per call, for what is priced by the token. `N_effect` is the sum of `volume_effect`,
    of all calls of the lines that both periods have, and `mix_effect`, of a line's share of them.
    The change of idle time is in `idle_price_effect`, `idle_provisioned_effect` and
    `idle_busy_effect`. Raises `NoDataError` where either period has neither a call nor a
    provisioned GPU-second.
    """
    columns = checked_groups(by)
    if set(columns) & set(TIME_COLUMNS):
        raise WrongQuestionError("explain compares two periods; group by no column of time")
    old = law_lines(ledger, configuration, by=columns, window=before, where=where, scan=scan)
    new = law_lines(ledger, configuration, by=columns, window=after, where=where, scan=scan)
    pairs = list(_pairs(old, new, columns))
    counts = _common_counts(pairs)
    rows = [_explained(*pair, counts) for pair in pairs]
    if not rows:
        raise NoDataError("neither period has a priced line; give the pools a price per GPU-hour")
    frame = _frame([*rows, *_totals(rows)], columns)
    notes = (
        f"before: {old.window.text()}",
        f"after: {new.window.text()}",
        *_length_notes(before, after),
        *(f"before: {caution}" for caution in old.cautions),
        *(f"after: {caution}" for caution in new.cautions),
        *_unpriced_notes(old, new),
    )
    return Answer(frame=frame, notes=notes, window=after)


def _pairs(old: LawLines, new: LawLines, columns: Sequence[str]) -> Iterator[tuple[Row, Row, Row]]:
    """The priced lines: what both periods share of each, then its row of either."""
    keys = list(dict.fromkeys(["line", *columns, "pool", "basis", "currency"]))
    before, after = (priced_rows(found, keys) for found in (old, new))
    for values in dict.fromkeys([*before, *after]):
        shared = dict(zip(keys, values, strict=True))
        yield shared, before.get(values, ABSENT), after.get(values, ABSENT)


def priced_rows(found: LawLines, keys: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """The priced lines by the values of `keys`, each with what `effects_of` wants, and `idle`."""
    rows = [
        row
        | {
            "line": REPLAYS if is_replayed(line) else line.line,
            "p": price_per_s(line.cost, line.gpu_ps or 0),
            "idle": line.idle,
        }
        for line, row in zip(found.lines, line_rows(found.lines, found.columns), strict=True)
        if line.cost is not None
    ]
    return {tuple(row[key] for key in keys): row for row in rows}


def _common_counts(pairs: Sequence[tuple[Row, Row, Row]]) -> tuple[int, int]:
    """The calls before and after of the lines that have some in both periods."""
    found = [(before.get("N") or 0, after.get("N") or 0) for _, before, after in pairs]
    both = [(old, new) for old, new in found if old and new]
    return sum(old for old, _ in both), sum(new for _, new in both)


def _explained(shared: Row, before: Row, after: Row, counts: tuple[int, int]) -> dict[str, Any]:
    """One row of the answer: what the change of one line is made of."""
    change = after["cost"] - before["cost"]
    line, effects = _split(shared["line"], before, after)
    of_idle = NO_IDLE_EFFECTS
    if line == "idle" and shared["basis"] == "gpu":
        of_idle = idle_effects(before["idle"], after["idle"], change)
    parts = volume_and_mix(before, after, effects["N"], counts)
    return {
        **shared,
        "line": line,
        "cost_from": before["cost"],
        "cost_to": after["cost"],
        "change": change,
        **_effect_columns({**effects, **of_idle}),
        **dict(zip(MIX_COLUMNS, parts, strict=True)),
    }


def _split(line: str, before: Row, after: Row) -> tuple[str, Mapping[str, Decimal | None]]:
    """What a line is called in the answer, and the effects of its letters if it has any."""
    if line in {"idle", REPLAYS}:
        return line, NO_EFFECTS
    if not before["N"]:
        return "new", NO_EFFECTS
    if not after["N"]:
        return "retired", NO_EFFECTS
    return line, effects_of(before, after)


def _effect_columns(effects: Mapping[str, Decimal | None]) -> dict[str, Decimal | None]:
    return {f"{letter}_effect": effect for letter, effect in effects.items()}


def _totals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row `total` for each currency: the sums of all its rows."""
    return [
        {
            "line": "total",
            "currency": currency,
            **{
                column: total_of([row[column] for row in rows if row["currency"] == currency])
                for column in (*COST_COLUMNS, *EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS, *MIX_COLUMNS)
            },
        }
        for currency in sorted({row["currency"] for row in rows})
    ]


def _frame(rows: Sequence[Row], columns: Sequence[str]) -> pl.DataFrame:
    """The rows by size of their change, the totals last."""
    texts = list(dict.fromkeys(["line", *columns, "pool", "basis"]))
    schema = dict.fromkeys(texts, pl.String) | dict.fromkeys(COST_COLUMNS, MONEY)
    schema |= {"currency": pl.String}
    schema |= dict.fromkeys((*EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS, *MIX_COLUMNS), MONEY)
    frame = pl.DataFrame(list(rows), schema=schema)
    is_total = pl.col("line") == "total"
    ties = [*texts, "currency"]
    order = [is_total, pl.col("change").abs(), *(pl.col(name) for name in ties)]
    descending = [False, True, *(False for _ in ties)]
    return frame.sort(order, descending=descending, nulls_last=True)


def _length_notes(before: Window, after: Window) -> Iterator[str]:
    """That calls and idle time also move because one period is longer, where it is by a tenth."""
    hours = [
        ((window.until or 0) - (window.since or 0)) / NS_PER_HOUR for window in (before, after)
    ]
    if max(hours) > LONGER * min(hours):
        yield (
            f"{hours[0]:,.6g} hours are compared with {hours[1]:,.6g}: what follows from that is "
            "in N and in idle_provisioned"
        )


def _unpriced_notes(old: LawLines, new: LawLines) -> list[str]:
    before, after = (
        sum(line.sums.call_count for line in found.lines if line.cost is None and line.sums)
        for found in (old, new)
    )
    if not before and not after:
        return []
    return [f"without a price, hence in no change: {counted(before, 'call')} before, {after} after"]
