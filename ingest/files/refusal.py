"""The error of one file that cannot be read, with the file's name kept apart.

Owns the form "NAME: what it is; what to do". Refuses to name a file without saying what was found.
"""

from ingest.errors import UnreadableSourceError


class RefusedSourceError(UnreadableSourceError):
    """`name` is the file as the user gave it, `found` is what it turned out to be.

    A companion is no data of its own: a reader looks at it beside the file that it describes.
    """

    def __init__(self, name: str, found: str, *, is_companion: bool = False) -> None:
        super().__init__(f"{name}: {found}")
        self.name = name
        self.found = found
        self.is_companion = is_companion
