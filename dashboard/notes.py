"""What must be said beside an answer, where the window stands in a heading already.

Owns what a sentence for a terminal loses on a page: its window, its backticks. Refuses new words.
"""

from analysis.answer import Answer

WINDOW_NOTE = "window: "


def notes_beside(answer: Answer) -> tuple[str, ...]:
    """The notes of `answer` as plain text, without the one that repeats its window."""
    return tuple(plain(note) for note in answer.notes if not note.startswith(WINDOW_NOTE))


def plain(sentence: str) -> str:
    """`sentence` without the backticks around commands: a page shows text, not markup."""
    return sentence.replace("`", "")
