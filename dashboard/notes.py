"""What must be said beside an answer, where the window stands in a heading already."""

from analysis.answer import Answer

WINDOW_NOTE = "window: "


def notes_beside(answer: Answer) -> tuple[str, ...]:
    """The notes of `answer` without the one that repeats its window."""
    return tuple(note for note in answer.notes if not note.startswith(WINDOW_NOTE))
