"""Which rule gave each column of one call, and what else was there to read.

Owns the columns of `config show --call`. Refuses to guess which call is meant: an identity that
begins several is an error that names them.
"""

import polars as pl

from analysis.answer import Answer
from analysis.errors import NoDataError, WrongQuestionError
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.calls.explained import Candidate, Fact
from ingest.config import Configuration
from ingest.explanation import explain_call
from ingest.ledger import Connection, Ledger

NAMED_CALLS = 4
SCHEMA = dict.fromkeys(("column", "value", "rule", "source", "others"), pl.String)


def mapping(ledger: Ledger, configuration: Configuration, identity: str) -> Answer:
    """One row a column of the call whose id, or the id of whose trace, begins with `identity`.

    `rule` and `source` say what gave `value`, `others` what was read and did not win, in the order
    of reading. Raises `NoDataError` where there is no such call, `WrongQuestionError` where there
    are several.
    """
    call_id = _resolved(ledger.connection, identity.strip().lower())
    facts = explain_call(ledger.connection, call_id, configuration)
    frame = pl.DataFrame([_row(fact) for fact in facts], schema=SCHEMA, orient="row")
    return Answer(
        frame=frame,
        notes=(f"call {call_id}, as the configuration maps it now",),
        window=Window(timezone=configuration.timezone),
    )


def _row(fact: Fact) -> tuple[str, str | None, str, str | None, str | None]:
    others = "; ".join(_text(other) for other in fact.others) or None
    return (fact.column, fact.value, fact.rule, fact.source, others)


def _text(candidate: Candidate) -> str:
    return f"{candidate.source} = {candidate.value}"


def _resolved(connection: Connection, identity: str) -> str:
    """The id of the one call that is meant."""
    found = run_question(
        connection, question_named("identities"), prefix=identity, most_rows=NAMED_CALLS
    ).rows()
    exact = [row for row in found if row[1] == identity] or found
    calls: list[str] = []
    for kind, name in exact:
        calls += [name] if kind == "call" else _calls_of_trace(connection, name)
    distinct = list(dict.fromkeys(calls))
    if not distinct:
        raise NoDataError(
            f"no call and no trace with a call begins with {identity!r}; "
            "`gpuledger ask calls` lists the calls"
        )
    if len(distinct) > 1:
        named = ", ".join(distinct[:NAMED_CALLS])
        raise WrongQuestionError(f"{identity!r} is of several calls, such as {named}; name one")
    return distinct[0]


def _calls_of_trace(connection: Connection, trace_id: str) -> list[str]:
    found = run_question(connection, question_named("calls_of_trace"), trace_id=trace_id)
    return found["call_id"].unique(maintain_order=True).to_list()
