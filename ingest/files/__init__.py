"""Opens what a user points at: files, folders, globs, standard input, archives.

Owns decompression and the check that a file is data at all. Refuses to look at a name where the
content can tell, and to let one bad file stop the others.
"""

from ingest.files.paths import open_sources
from ingest.files.refusal import RefusedSourceError
from ingest.files.source import HEAD_BYTES, Source

__all__ = ["HEAD_BYTES", "RefusedSourceError", "Source", "open_sources"]
