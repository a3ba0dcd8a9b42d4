"""What was counted of a call's texts, view by view.

Owns which view's text counts: the innermost that has it, as with the fingerprints. Refuses the
answer of a wrapper around several attempts to all but the last.
"""

from typing import NamedTuple

from ingest.calls.derivation import Derivation
from ingest.calls.views import Views
from ingest.counting.counted import Counted
from ingest.counting.measures import AnswerMeasures
from ingest.counting.texts import counted


class Counts(NamedTuple):
    """The count that has the call's prompt, and the one that has its answer; None where unseen.

    `measures` are those of the answer, whether or not its tokens had to be counted.
    """

    asked: Counted | None = None
    answered: Counted | None = None
    measures: AnswerMeasures | None = None


def counts(views: Views, derivation: Derivation, *, owns_wrapper: bool) -> Counts:
    """The counts of the call that `views` describe."""
    asked: Counted | None = None
    answered: Counted | None = None
    measures: AnswerMeasures | None = None
    for view in (*views.own, *([views.wrapper] if views.wrapper else [])):
        found = counted(
            view.span, view.reading, view.part, derivation.configuration, derivation.table
        )
        if found is None:
            continue
        if asked is None and found.has_prompt:
            asked = found
        if view is views.wrapper and not owns_wrapper:
            continue
        if answered is None and found.output_tokens:
            answered = found
        measures = measures or found.answer_measures
    return Counts(asked, answered, measures)
