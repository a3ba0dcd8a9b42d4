"""What the dashboard says when it cannot show a figure, and what to do then.

Owns the words of empty and failed states. Refuses to hide a fault of the product: only errors
that a reader can mend are put into words.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from analysis.errors import NoDataError, WrongQuestionError
from dashboard.notes import plain
from dashboard.source import Source
from ingest.errors import LedgerError, LedgerLockedError, LedgerMissingError


@contextmanager
def shown_in_words(source: Source) -> Iterator[None]:
    """Runs the body; an error that a reader can mend becomes words and a next step."""
    try:
        yield
    except LedgerMissingError as error:
        _say("There is no ledger yet", error)
        _offer_commands(source, "demo", "ingest PATH")
    except NoDataError as error:
        _say("The ledger has no calls here", error)
        st.text("Choose another period or fewer filters, or bring in more telemetry:")
        _offer_commands(source, "ingest PATH")
    except LedgerLockedError as error:
        _say("The ledger is being written", error)
        st.text("An ingest holds it. The figures come back when it is done.")
        st.button("Try again", icon=":material/refresh:")
    except WrongQuestionError as error:
        _say("This view cannot be shown", error)
        st.text("Choose other values above.")
    except LedgerError as error:
        _say("The ledger or its configuration cannot be used", error)


def _say(heading: str, error: Exception) -> None:
    st.subheader(heading)
    st.text(plain(str(error)))


def _offer_commands(source: Source, *commands: str) -> None:
    lines = [f"gpuledger {command} --ledger {source.ledger_path}" for command in commands]
    st.code("\n".join(lines), language=None)
