"""What the name of a value says of it: that it is a secret, or that it is an id.

Owns both lists of names. Refuses to look at the value: `user.password` is one whatever it holds.
"""

import re
from functools import lru_cache

_SECRET = re.compile(
    r"(?:passw(?:or)?d|passphrase|secret|(?:api|access|private|secret)[-_ ]?key|"
    r"(?:access|refresh|id|auth|bearer|session|api|csrf|security|private|vault|bot|git(?:hub|lab)|"
    r"hf|slack)[-_ ]?token|"
    r"credentials?|cookie|authorization|(?<![a-z])pwd)(?:\.\d+)?$",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:^|[._-])(?:id|uuid|guid)s?(?:\.\d+)?$|[a-z]I[dD]s?$")


@lru_cache(maxsize=65_536)
def is_secret_name(name: str) -> bool:
    """Whether a value under `name` is a secret, such as `http.request.header.authorization`."""
    return _SECRET.search(name) is not None


@lru_cache(maxsize=65_536)
def is_id_name(name: str) -> bool:
    """Whether a value under `name` is an id, whose digits are no card's and no telephone's."""
    return _ID.search(name) is not None
