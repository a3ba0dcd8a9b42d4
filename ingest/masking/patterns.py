"""The forms of secrets and of e-mail addresses, and what makes a text worth a look.

Owns the patterns that need no check beyond their form. They are in the syntax of RE2, whose time
grows with the length of a text and with nothing else. Refuses patterns with look-around or back
references: RE2 has none.
"""

from typing import NamedTuple


class Rewrite(NamedTuple):
    """What is found and what is written in its place, both as RE2 has them."""

    pattern: str
    replacement: str


def mark(name: str) -> str:
    """What is stored in place of what the mask `name` found."""
    return f"[masked: {name}]"


SECRET = mark("secret")
EMAIL = mark("email")

_LENT = (
    "(?:access|refresh|id|auth|bearer|session|api|csrf|security|private|vault|bot|git(?:hub|lab)|hf|"
    "slack)[-_ ]?token"
)
NAME = (
    "(?i:passw(?:or)?d|passphrase|secret|(?:api|access|private|secret)[-_ ]?key|"
    rf"{_LENT}|credentials?|cookie|authorization|\bpwd)"
)
"""The end of a name, in a text, under which what follows is a secret."""

_STOP = r"\s\"'\\,;&}\]\["
_SCHEME = r"(?:(?i:bearer|basic|token|digest|negotiate|apikey)\s+)?"
_CREDENTIAL = "[A-Za-z0-9._~+/=-]"
_KEY_ENDS = "-----END [A-Z ]*PRIVATE KEY-----"

_PAIR = (
    rf"\"(?:key|name)\"\s*:\s*\"[^\"\\]*{NAME}(?:\.[0-9]+)?\"\s*,\s*\"value\"\s*:"
    r"[\[{\s]*(?:\"[A-Za-z]+\"\s*:[\[{\s]*)*"
)
"""A name and what stands before its value, as in OTLP's JSON: `{"stringValue": "…"}`."""

_NAMED = (
    Rewrite(rf"({_PAIR})-?[0-9][0-9.eE+-]*", rf'\1"{SECRET}"'),
    Rewrite(rf"({_PAIR}\")(?:[^\"\\]|\\.)+", rf"\1{SECRET}"),
    Rewrite(rf"({NAME}\"?\s*[:=]\s*\")(?:[^\"\\]|\\.)+", rf"\1{SECRET}"),
    Rewrite(rf"({NAME}\\+\"\s*[:=]\s*\\+\")[^\"\\]*(?:\\+[^\"\\][^\"\\]*)*", rf"\1{SECRET}"),
    Rewrite(rf"({NAME}'?\s*[:=]\s*')(?:[^'\\]|\\.)+", rf"\1{SECRET}"),
    Rewrite(rf"({NAME}\\*[\"']\s*[:=]\s*)[0-9][0-9.]*", rf'\1"{SECRET}"'),
    Rewrite(rf"({NAME}\s*[:=]\s*){_SCHEME}[^{_STOP}]+", rf"\1{SECRET}"),
    Rewrite(rf"((?:[?&]|--)(?:token|sig|signature)[= ])[^{_STOP}-][^{_STOP}]*", rf"\1{SECRET}"),
    Rewrite(rf"(--[a-z-]*{NAME}\s+)[^{_STOP}-][^{_STOP}]*", rf"\1{SECRET}"),
)

_KNOWN_FORMS = (
    r"\b(?:sk|pk)-[A-Za-z0-9_-]{12,}",
    r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\b(?:hf|gsk|npm)_[A-Za-z0-9]{20,}",
    r"\bxai-[A-Za-z0-9]{20,}",
    r"\bpypi-[A-Za-z0-9_-]{30,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",
    r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?",
)

SECRET_REWRITES = (
    Rewrite(rf"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:{_KEY_ENDS}|\z)", SECRET),
    *_NAMED,
    Rewrite(r"(://[^\s/:@\"']*:)[^\s/@\"']+@", rf"\1{SECRET}@"),
    Rewrite(
        rf"\b([Bb]earer\s+)(?:{_CREDENTIAL}{{20,}}|{_CREDENTIAL}*[0-9]{_CREDENTIAL}*)",
        rf"\1{SECRET}",
    ),
    Rewrite("|".join(f"(?:{form})" for form in _KNOWN_FORMS), SECRET),
)
EMAIL_REWRITES = (
    Rewrite(
        r"[\p{L}\p{N}._%+'-]*[\p{L}\p{N}_%+-]@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,}",
        EMAIL,
    ),
)

TRIGGERS = {
    "secret": (
        r"(?i:passw|pwd|passphrase|secret|(?:api|access|private)[-_ ]?key|credential|cookie|"
        rf"authorization|{_LENT}|bearer)|"
        r"(?:[?&]|--)(?:token|sig|signature)[= ]|"
        r"(?:sk|pk|rk)[-_]|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|hf_|gsk_|npm_|xai-|pypi-|AIza|"
        r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]|eyJ|-----BEGIN|://[^\s/:@\"']*:[^\s/@\"']+@"
    ),
    "email": "@",
    "card": r"(?:^|[^\p{Nd}])[2-6２-６](?:[ -]?\p{Nd}){11}",
    "iban": r"[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4} ?[A-Z0-9]{3}",
    "phone": (
        r"\+[1-9][ ().-]{0,2}[0-9]|[0-9]{3}\)?[ .-][0-9]{3}[.-][0-9]{4}|"
        "0[0-9]{1,4}[)]?[ -][0-9]{1,4}[ -][0-9]{3}"
    ),
    "ip": r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]?:[0-9A-Fa-f]{0,4}:",
}
"""What a record must contain for a mask to find anything in it. They are run over records as JSON,
so none depends on what stands before it, which JSON may have escaped."""
