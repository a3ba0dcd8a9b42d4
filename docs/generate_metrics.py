"""Writes docs/metrics/: a page for every question and check, from the headers of their files.

Owns the form of these pages. Refuses to say anything that a header does not say.

    python docs/generate_metrics.py
"""

from pathlib import Path

from analysis.sql import HEADER_FIELDS, Question, all_questions

FOLDER = Path(__file__).resolve().parent / "metrics"
SECTIONS = {"questions": "Questions", "checks": "Checks"}
"""Folder of `analysis/` to its heading."""

MADE_BY = "<!-- Made by docs/generate_metrics.py from the header of {path}; edit that. -->"
TITLES = {"unit": "Units", "params": "Parameters", "nulls": "What null means"}


def pages() -> dict[str, str]:
    """File name to text of every page, the index included."""
    texts = {"README.md": _index()}
    for folder in SECTIONS:
        for question in all_questions(folder):
            texts[_file_name(question, folder)] = _page(question, f"analysis/{folder}")
    return texts


def _page(question: Question, folder: str) -> str:
    path = f"{folder}/{question.name}.sql"
    facts = [
        f"**{TITLES.get(name, name.capitalize())}.** {getattr(question, name)}."
        for name in HEADER_FIELDS
        if name not in {"name", "question"}
    ]
    head = [MADE_BY.format(path=path), f"# {question.name}", question.question]
    return "\n\n".join([*head, *facts, f"Text: [{path}](../../{path})"]) + "\n"


def _index() -> str:
    lines = [MADE_BY.format(path="every question"), "# Questions and checks"]
    for folder, title in SECTIONS.items():
        rows = [
            f"| [{question.name}]({_file_name(question, folder)}) | {question.question} |"
            for question in all_questions(folder)
        ]
        lines.append("\n".join([f"## {title}\n", "| name | question |", "| --- | --- |", *rows]))
    return "\n\n".join(lines) + "\n"


def _file_name(question: Question, folder: str) -> str:
    return f"{question.name}.md" if folder == "questions" else f"check_{question.name}.md"


def main() -> None:
    """Write every page, and remove those of questions that are gone."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
