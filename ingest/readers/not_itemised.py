"""The line of a record format for what several calls used together.

Owns nothing: it is named as the line of an agent's spans is. Refuses to share it out: the calls
beside it keep unknown tokens.
"""

from ingest.calls.remainders import NOT_ITEMISED

__all__ = ["NOT_ITEMISED"]
