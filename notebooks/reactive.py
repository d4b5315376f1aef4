"""sourcelight in marimo: a query, its matches, and cells that follow what a reader chooses."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import os

    import marimo as mo

    import sourcelight as sl

    paths = os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep)
    code = sl.open(*paths)
    return code, mo


@app.cell
def _(mo):
    query = mo.ui.text("error count:all", label="Query")
    query
    return (query,)


@app.cell
def _(code, query):
    result = code.search(query.value)
    result
    return (result,)


@app.cell
def _(mo, result):
    explorer = mo.ui.anywidget(result.explore())
    explorer
    return (explorer,)


@app.cell
def _(explorer):
    frame = explorer.visible_rows
    frame.groupby(["repository", "language"], observed=True)["match_count"].sum().to_frame("matches")
    return (frame,)


@app.cell
def _(mo, result):
    panel = mo.ui.anywidget(result.facets())
    panel
    return (panel,)


@app.cell
def _(code, panel):
    narrowed = code.search(panel.query)
    narrowed.matches[["repository", "path", "line_number", "line"]]
    return (narrowed,)


if __name__ == "__main__":
    app.run()
