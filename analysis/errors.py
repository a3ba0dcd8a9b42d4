"""What can go wrong with a question, apart from the ledger itself.

Owns the difference between a question that is asked wrongly and one that has no data.
"""

from ingest.errors import LedgerError


class QuestionFileError(Exception):
    """A question file that its header does not describe; a fault of the product, not of data."""


class WrongQuestionError(Exception):
    """A question asked with a column, a value or a time that does not exist."""


class NoDataError(LedgerError):
    """The ledger holds nothing that the question is about."""
