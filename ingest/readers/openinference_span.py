"""Reads bare spans in OTLP's JSON, without a resource around them, as the Envoy AI gateway's.

Owns spans that may lack ids and times. Refuses spans of SDK consoles, which look alike but keep
their attributes in an object.
"""

import re
from collections.abc import Iterator

from ingest.files import Source
from ingest.readers.documents import records
from ingest.readers.opening import opening
from ingest.readers.otlp_json_spans import span_or_reject
from ingest.readers.reader import batches
from ingest.readers.rejection import rejected
from ingest.records import Batch, Reject, Span

_ATTRIBUTE_LIST = re.compile(rb'"attributes"\s*:\s*\[\s*(\{\s*"(key|value)"|\])')


class OpenInferenceSpan:
    """Bare spans in OTLP's JSON."""

    name = "openinference-span"
    title = "bare OTLP spans, JSON (Envoy AI gateway, OpenInference)"
    recognised_by = 'a JSON object with a name and a list of attributes {"key", "value"}'

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a span by itself."""
        keys = opening(head).keys
        return {"name", "attributes"} <= keys and _ATTRIBUTE_LIST.search(head) is not None

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans: of one object, of a list, or of a list a line."""
        return batches(_spans(source))


def _spans(source: Source) -> Iterator[Span | Reject]:
    for document in records(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
        elif isinstance(document.value, dict) and "attributes" in document.value:
            yield span_or_reject(document.value, {}, None, document.where)
        else:
            reason = "no span: no object with attributes"
            yield rejected(document.where, reason, document.value)
