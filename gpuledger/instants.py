"""An option that is a time: RFC 3339 text in, nanoseconds since 1970 out.

Owns what is said of a text that is no time. It stands apart from the other options because it
brings the readers with it, which most commands start without.
"""

import click

from ingest.readers.instants import instant_of_text


def instant_given(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> int | None:
    """The instant that the option gives, in nanoseconds since 1970; None where it is not given."""
    if text is None:
        return None
    try:
        return instant_of_text(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
