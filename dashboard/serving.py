"""The process that serves: Streamlit, told to listen only when what every page needs is read.

Owns the list of what is read first, so that the first reader does not wait for it. Refuses the
pages themselves: what they keep belongs to the server, which is not there yet.

    python -m dashboard.serving run SCRIPT OPTIONS
"""

from importlib import import_module

from streamlit.web import cli

READ_FIRST = (
    "pandas",
    "plotly.graph_objects",
    "pyarrow.compute",
    "ingest.current",
    "analysis.explain",
    "analysis.traces",
    "dashboard.charts",
    "dashboard.tables",
    "dashboard.waterfall",
)


def main() -> None:
    """Read, then do as Streamlit's command line is told."""
    for name in READ_FIRST:
        import_module(name)
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()
