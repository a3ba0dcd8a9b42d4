"""The dashboard's entry: pages, the view they share, and what is said when there is nothing.

Run by `gpuledger dashboard`. Owns the order of the pages. Refuses to show a stack trace for what
a reader can mend.
"""

import streamlit as st

from dashboard.pages import endpoints, overview, traces
from dashboard.source import current_source
from dashboard.trouble import shown_in_words
from dashboard.view import view_bar

# Our own, because a named icon is fetched from another host.
ICON = (
    '<svg viewBox="0 0 16 16"><path fill="#4477aa" d="M1 9h4v6H1z"/>'
    '<path fill="#ee7733" d="M6 5h4v10H6z"/><path fill="#228833" d="M11 1h4v14h-4z"/></svg>'
)


def main() -> None:
    """One run of the dashboard: the page that was asked for, in the view of the address."""
    st.set_page_config(page_title="gpuledger", page_icon=ICON, layout="wide")
    source = current_source()
    # A page is called after the bar has made the view, so that every page shows the same one.
    page = st.navigation(
        [
            st.Page(lambda: overview.show(source, view), title="Overview", url_path="overview"),
            st.Page(lambda: endpoints.show(source, view), title="Endpoints", url_path="endpoints"),
            st.Page(lambda: traces.show(source, view), title="Traces", url_path="traces"),
        ],
        position="top",
    )
    with shown_in_words(source):
        view = view_bar(source)
        page.run()


main()
