"""What can be done about the bill: each lever, whether it applies here, and what it would save.

Owns the answer of `gpuledger levers`. Refuses to count a GPU-second twice, to guess what the ledger
does not tell, and to say what the bill falls by.
"""

from collections.abc import Sequence

import polars as pl

from analysis.answer import Answer
from analysis.bill import read_bill
from analysis.columns import nearest
from analysis.detections.detected import Asked, Detected, unknown
from analysis.detections.known import Lever, levers_known
from analysis.detections.registry import DETECTIONS
from analysis.errors import NoDataError, WrongQuestionError
from analysis.extent import bounded, no_calls
from analysis.facts import Facts
from analysis.lever_lines import lines_of, notes_of
from analysis.lever_plan import RANKS, planned
from analysis.selection import Filters, read_cohorts, selected
from analysis.window import Window
from analysis.worth import Pricing
from ingest.charging.pools import rates_in
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="levers",
    question="What can be done about the bill, and what would each lever save?",
    grain="a lever, and a currency where it saves several; GPU-seconds without a price are a line "
    "of their own. Those that apply come first, by tier, the dearest first; then those of which it "
    "is not known",
    unit="GPU-seconds; cost in currency; busy_ratio of the GPU-seconds of the calls that began in "
    "the window, bill_ratio of their cost in that currency, without idle time",
    params="--since, --until, --tz and --where choose the calls, --applies the levers",
    nulls="GPU-seconds and costs are null where no saving can be attributed to calls, as the lever "
    "saves waiting time, or needs what missing says; costs where there is no price",
    identity="attributed_gpu_seconds add up to the union of all claims, attributed_cost does in "
    "each currency; no lever has more of it than alone",
)


def levers(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window | None = None,
    where: Filters | None = None,
    applies: Sequence[str] = (),
) -> Answer:
    """One row a lever, or more where it saves several currencies; `applies` chooses among them.

    Columns: docs/levers.md. Raises `NoDataError` where no call is in the window.
    """
    for word in applies:
        if word not in RANKS:
            raise WrongQuestionError(
                f"a lever applies or not, not {word!r}; {nearest(word, RANKS)}"
            )
    connection, filters = ledger.connection, selected(where)
    asked_window = window or Window(timezone=configuration.timezone)
    asked = Asked(ledger=ledger, configuration=configuration, window=asked_window, filters=filters)
    if not asked.told["call_count"]:
        raise no_calls(connection, asked_window, filters)
    bill = read_bill(connection, asked_window, filters, configuration)
    pricing = Pricing(rates=rates_in(connection), cohorts=read_cohorts(connection, filters))
    detections = ((lever, _detected(lever, asked)) for lever in levers_known())
    whole = pricing.worth(bill.total())
    plan = planned(bill, detections, pricing, whole)
    frame = lines_of(plan, whole)
    resolved = bounded(connection, asked_window, filters)
    return Answer(
        frame=frame.filter(pl.col("applies").is_in(applies)) if applies else frame,
        notes=(f"window: {resolved.text()}", *notes_of(plan, whole)),
        window=resolved,
    )


def _detected(lever: Lever, asked: Asked) -> Detected:
    """What the ledger tells of `lever`; that it lacks something is an answer."""
    detection = DETECTIONS.get(lever.number)
    if detection is None:
        return unknown(f"needs {lever.needs}")
    try:
        return detection(asked)
    except NoDataError as error:
        return unknown(f"needs {lever.needs}: {error}")
