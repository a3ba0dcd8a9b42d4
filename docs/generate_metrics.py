"""Writes docs/metrics/: a page for every question and check, from the facts that it declares.

Owns the form of these pages. Refuses to say anything that is not declared: in the header of a
question file, or in `FACTS` of the module that computes an answer out of others.

    python docs/generate_metrics.py
"""

from pathlib import Path

from analysis.computed import COMPUTED
from analysis.facts import FIELDS, Facts
from analysis.sql import all_questions

FOLDER = Path(__file__).resolve().parent / "metrics"
SECTIONS = {"questions": "Questions", "checks": "Checks"}
"""Folder of `analysis/` to its heading."""

MADE_BY = "<!-- Made by docs/generate_metrics.py from {origin}; edit that. -->"
TITLES = {"unit": "Units", "params": "Parameters", "nulls": "What null means"}


def pages() -> dict[str, str]:
    """File name to text of every page, the index included."""
    texts = {"README.md": _index()}
    for folder in SECTIONS:
        for question in all_questions(folder):
            path = f"analysis/{folder}/{question.name}.sql"
            origin = f"the header of {path}"
            texts[_file_name(question, folder)] = _page(question, origin, f"Text: {_link(path)}")
    for facts in COMPUTED:
        path = f"analysis/{facts.name}.py"
        source = f"Computed by: {_link(path)}"
        texts[_file_name(facts, "questions")] = _page(facts, f"the facts of {path}", source)
    return texts


def _page(facts: Facts, origin: str, source: str) -> str:
    told = [
        f"**{TITLES.get(name, name.capitalize())}.** {getattr(facts, name)}."
        for name in FIELDS
        if name not in {"name", "question"}
    ]
    head = [MADE_BY.format(origin=origin), f"# {facts.name}", facts.question]
    return "\n\n".join([*head, *told, source]) + "\n"


def _link(path: str) -> str:
    return f"[{path}](../../{path})"


def _index() -> str:
    origin = "the header of every question and the facts of every computed one"
    lines = [MADE_BY.format(origin=origin), "# Questions and checks"]
    for folder, title in SECTIONS.items():
        rows = [
            f"| [{facts.name}]({_file_name(facts, folder)}) | {facts.question} |"
            for facts in _listed(folder)
        ]
        lines.append("\n".join([f"## {title}\n", "| name | question |", "| --- | --- |", *rows]))
    return "\n\n".join(lines) + "\n"


def _listed(folder: str) -> list[Facts]:
    """What a section of the index lists, by name."""
    computed = COMPUTED if folder == "questions" else ()
    return sorted([*all_questions(folder), *computed], key=lambda facts: facts.name)


def _file_name(facts: Facts, folder: str) -> str:
    return f"{facts.name}.md" if folder == "questions" else f"check_{facts.name}.md"


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
