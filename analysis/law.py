"""The headline: what each group of calls cost, by the letters of the law, and what is left over.

Owns which lines an answer has. Refuses an empty table: a window
without a call and without a provisioned GPU-second is an error that says what the ledger has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.answer import Answer
from analysis.columns import checked_groups
from analysis.extent import bounded, no_calls
from analysis.group_sums import group_sums
from analysis.idle_sums import idle_sums
from analysis.law_notes import (
    conversion_notes,
    line_notes,
    only_idle_note,
    overcommit_notes,
    pool_notes,
    window_note,
)
from analysis.lines import (
    Line,
    group_lines,
    idle_lines,
    lines_frame,
    replayed_lines,
    unpriced_lines,
)
from analysis.plans import plan_notes, unused_plan_lines
from analysis.scan import Scan, scanned, times_of
from analysis.selection import PRODUCTION, Filters, selected
from analysis.window import Window
from ingest.charging.pools import rates_in
from ingest.charging.rates import Rate
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

IDLE_FILTERS = {"origin", "pool"}
"""A filter by anything else selects a part of a pool's calls, and idle time belongs to the pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawLines:
    """The lines of an answer before rounding, and what is said beside them.

    `cautions` are those of the notes without which the money would be misread.
    """

    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    window: Window


def law(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
    scan: Scan = scanned,
) -> Answer:
    """The lines of the calls that `where` selects in `window`, grouped by the columns `by`.

    Without `window` it is from the first service start to the last end; without an origin in
    `where` it is production. Idle time has a line of its own per pool, unless the calls are
    filtered by more than origin and pool; a window without a call has those lines alone. What
    replays used of a pool is a line `unattributed` of that pool; a plan that no call has a share of
    is a line `idle` of its name. Columns and units:
    docs/metrics/law.md. Raises `WrongQuestionError` for an unknown column,
    `NoDataError` where the window has neither a call nor a provisioned GPU-second.
    """
    found = law_lines(ledger, configuration, by=by, window=window, where=where, scan=scan)
    frame = lines_frame(found.lines, found.columns)
    return Answer(frame=frame, notes=found.notes, window=found.window)


def law_lines(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
    scan: Scan = scanned,
) -> LawLines:
    """The lines of `law` with their exact costs; raises what it raises."""
    columns, filters, connection = checked_groups(by), selected(where), ledger.connection
    asked = window or Window(timezone=configuration.timezone)
    resolved = bounded(connection, asked, filters)
    times = times_of(columns, resolved)
    sums = group_sums(connection, times, by=columns, window=asked, filters=filters, scan=scan)
    rates = rates_in(connection)
    zone, idle_rates = configuration.timezone, _idle_rates(rates, filters)
    idle = idle_sums(idle_rates, sums, by=columns, window=resolved, schedule_zone=zone)
    unused = _unused_plans(connection, configuration, columns, resolved, filters)
    if not sums.groups and not unused and not any(item.provisioned_ps for item in idle):
        raise no_calls(connection, asked, filters)
    lines = [
        *group_lines(sums.groups, columns),
        *idle_lines(idle, columns),
        *unused,
        *replayed_lines(idle, columns),
        *unpriced_lines(sums.groups, columns),
    ]
    cautions = (
        *([] if sums.groups else [only_idle_note(connection, asked, filters, idle)]),
        *overcommit_notes(idle),
        *conversion_notes(connection, configuration, asked, filters),
    )
    notes = (
        window_note(asked, resolved, filters["origin"]),
        *cautions,
        *line_notes(lines),
        *plan_notes(connection, lines, resolved),
        *pool_notes(rates, sums, is_idle_shown=_has_idle(filters)),
    )
    return LawLines(
        lines=tuple(lines), columns=columns, notes=notes, cautions=cautions, window=resolved
    )


def _has_idle(filters: Filters) -> bool:
    return set(filters) <= IDLE_FILTERS and filters["origin"] == PRODUCTION


def _unused_plans(
    connection: Connection,
    configuration: Configuration,
    columns: Sequence[str],
    window: Window,
    filters: Filters,
) -> list[Line]:
    """What no call has a share of, where the answer is of all calls of production."""
    if not _has_idle(filters) or "pool" in filters:
        return []
    return unused_plan_lines(connection, configuration, by=columns, window=window)


def _idle_rates(rates: Sequence[Rate], filters: Filters) -> list[Rate]:
    """The rates whose idle time belongs to the answer."""
    if not _has_idle(filters):
        return []
    return [rate for rate in rates if filters.get("pool", rate.pool) == rate.pool]
