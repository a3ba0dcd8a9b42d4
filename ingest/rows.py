"""Records of a source as rows: redacted, in the ledger's columns, with what fits none of them.

Owns the way from a batch to tables. Refuses to write: a `Stage` puts the tables beside the ledger,
at once or later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import pyarrow as pa

from ingest.config import Configuration
from ingest.ledger import Connection
from ingest.records import Batch
from ingest.redact import Redaction
from ingest.store.calls import CallRows
from ingest.store.deliveries import rejects_table
from ingest.store.samples import sample_table
from ingest.store.spans import digest_key, span_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A share of a source, ready to be put beside the ledger.

    `cohorts` has at least those of `calls` that no earlier share had.
    """

    spans: pa.Table
    calls: pa.Table
    cohorts: pa.Table
    samples: pa.Table
    rejects: pa.Table

    @property
    def count(self) -> int:
        """Records, taken or not."""
        tables = (self.spans, self.calls, self.samples, self.rejects)
        return int(sum(table.num_rows for table in tables))

    @property
    def size_bytes(self) -> int:
        """Memory that the tables take."""
        return int(sum(table.nbytes for table in self.tables().values()))

    def tables(self) -> dict[str, pa.Table]:
        """Each table by its name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def together(shares: Sequence[Rows]) -> Rows:
    """`shares`, of which there is at least one, as one, in their order."""
    named = [share.tables() for share in shares]
    return Rows(**{name: pa.concat_tables([each[name] for each in named]) for name in named[0]})


class RowMaker:
    """Makes the rows of one source, batch by batch, as the privacy setting wants them.

    The ledger is read when the object is made, and not kept. Raises `ConfigurationError` where a
    mask of the configuration cannot be used.
    """

    def __init__(self, connection: Connection, configuration: Configuration) -> None:
        self._redaction = Redaction(configuration)
        self._key = digest_key(configuration)
        self._calls = CallRows(connection)
        self.ignored_count = 0
        """Values so far that were sound and that no question reads."""

    @property
    def masked(self) -> Mapping[str, int]:
        """Texts so far in which a mask found something, by mask."""
        return self._redaction.masked

    def rows(self, batch: Batch) -> Rows:
        """The records of `batch`; those that fit no row are among the rejects."""
        clean = self._redaction.spans(batch.spans)
        weighed = self._redaction.weighed(batch.spans, clean)
        spans, unfit = span_table(weighed, clean, key=self._key)
        calls, unfit_calls = self._calls.tables(
            self._redaction.calls(batch.calls), is_derived=False
        )
        samples, unfit_samples = sample_table(self._redaction.samples(batch.samples))
        rejects = [*unfit, *unfit_calls, *unfit_samples, *batch.rejects]
        self.ignored_count += batch.ignored_count
        return Rows(
            spans=spans,
            calls=calls.calls,
            cohorts=calls.cohorts,
            samples=samples,
            rejects=rejects_table(list(self._redaction.rejects(rejects))),
        )

    def text(self, text: str) -> str:
        """`text`, such as the name of a source, with marks."""
        return self._redaction.text(text)

    def none(self) -> Rows:
        """A share without a record."""
        return self.rows(Batch())
