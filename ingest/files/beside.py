"""Names of files that lie beside data and are none: texts for people, programs, pictures.

Owns which names say so. Refuses to judge by it alone: a file that a reader knows is data whatever
it is called, and a file that the user names is looked at.
"""

from pathlib import PurePath

_BY_SUFFIX = {
    **dict.fromkeys((".md", ".markdown", ".rst", ".adoc"), "a text for people"),
    **dict.fromkeys((".py", ".pyi", ".ipynb", ".sh", ".js", ".ts"), "a program"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico"), "a picture"),
    ".pdf": "a document",
}
_LICENCES = frozenset({"license", "licence", "copying", "notice"})


def beside_data(name: str) -> str | None:
    """What the file of this name is beside data; None where the name does not say that it is."""
    path = PurePath(name)
    if path.stem.lower() in _LICENCES and path.suffix.lower() in {"", ".txt", ".md"}:
        return "a licence"
    return _BY_SUFFIX.get(path.suffix.lower())
