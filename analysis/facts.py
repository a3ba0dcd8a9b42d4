"""The declared facts of a question: what its page, its row in `questions` and its tests go by.

Owns their names, which are the header fields of a question file. Refuses a fact that says nothing.
"""

from dataclasses import dataclass, fields

from analysis.errors import QuestionFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a question asks, of what it has a row, in which units, and what must hold of it."""

    name: str
    question: str
    grain: str
    unit: str
    params: str
    nulls: str
    identity: str

    def __post_init__(self) -> None:
        empty = [name for name in FIELDS if not getattr(self, name)]
        if empty:
            raise QuestionFileError(f"question {self.name!r} does not say its {', '.join(empty)}")


FIELDS = tuple(field.name for field in fields(Facts))
