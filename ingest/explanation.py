"""Why a call of the ledger has the columns that it has: read again from its spans.

Owns the way from a `call_id` to the spans behind it. Refuses to explain with another mapping than
the one the call was derived with: whoever asks brings the ledger up to date first.
"""

from ingest.calls.derive import views_of_call
from ingest.calls.explained import Fact, explained
from ingest.config import Configuration
from ingest.ledger import Connection
from ingest.store.spans import spans_in
from ingest.store.statements import statement


def explain_call(connection: Connection, call_id: str, configuration: Configuration) -> list[Fact]:
    """A fact for each column of the call `call_id`, which the ledger must have."""
    (values,) = (
        connection.sql("select * from calls where call_id = $call_id", params={"call_id": call_id})
        .to_arrow_table()
        .to_pylist()
    )
    places = connection.execute(statement("call_origin"), {"call_id": call_id}).fetchall()
    own = (values["trace_id"], values["span_id"])
    told = []
    for trace_id, span_id in sorted(places, key=lambda place: (place != own, str(place))):
        found = connection.sql(statement("trace_spans"), params={"trace_id": trace_id})
        spans = list(spans_in(found.to_arrow_table()))
        if any(span.span_id == span_id for span in spans):
            told.append(views_of_call(spans, span_id, configuration))
    return explained(values, told, configuration, has_record=len(told) < len(places))
