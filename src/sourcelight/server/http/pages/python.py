"""The call behind a page, in Python: text to copy, and a notebook that runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from sourcelight.core.markup import escape
from sourcelight.server.http.pages.frame import HEADERS


def call_text(method: str, *values: str | None, **keywords: str | int | list[str] | None) -> str:
    """Return a call of a client, such as ``code.blame('example.org/acme/web', 'a.py')``, without None arguments."""
    # All values are of repositories and readers: `repr` keeps each of them one literal.
    arguments = [repr(value) for value in values if value is not None]
    arguments += [f"{name}={value!r}" for name, value in keywords.items() if value is not None]
    return f"code.{method}({', '.join(arguments)})"


def program(call: str, base_url: str) -> str:
    """Return a program that makes a call of this service."""
    return f"import sourcelight as sl\n\ncode = sl.connect({base_url!r})  # the token is in SRC_ACCESS_TOKEN\n{call}"


def compared_revisions(path: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` and ``head`` of an address: of its parameters, or of ``base...head``."""
    base, _, head = path.partition("...")
    return {"base": parameters.get("base") or base, "head": parameters.get("head") or head or "HEAD"}


def python_call(
    kind: str,
    arguments: Mapping[str, str],
    path: str,
    parameters: Mapping[str, str],
    lines: tuple[int, int] | None,
) -> str:
    """Return the call of a client that shows the same as a page of code.

    Parameters
    ----------
    kind
        ``blob``, ``tree``, ``commit``, ``compare`` or ``symbol``.
    arguments
        ``repo``, and ``revision`` where the address has one.
    path, parameters
        The rest of the address.
    lines
        First and last line that it asks for.
    """
    repo, revision = arguments["repo"], arguments.get("revision")
    match kind:
        case "commit":
            return call_text("commit_details", repo, path.strip("/"))
        case "compare":
            return call_text("compare_revisions", repo, *compared_revisions(path, parameters).values())
        case "symbol":
            name, line = parameters.get("name", ""), number_of(parameters)
            return call_text("find_references", repo, path, name, revision=revision, line=line)
        case "tree":
            return call_text("list_files", repo, path.strip("/") or None, revision=revision)

    if "history" in parameters and lines is None:
        return call_text("path_history", repo, path, revision=revision)

    return _call_of_lines(repo, path, revision, parameters, lines or (None, None))


def number_of(parameters: Mapping[str, str], name: str = "line") -> int | None:
    """Return a parameter that is a number, such as the line on which a name was clicked, or None without one."""
    text = parameters.get(name, "")
    return int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else None


def _call_of_lines(
    repo: str, path: str, revision: str | None, parameters: Mapping[str, str], lines: tuple[int | None, int | None]
) -> str:
    first, last = lines
    if "history" in parameters:
        return call_text("history_of", repo, path=path, start_line=first, end_line=last, revision=revision)
    method = "blame" if "blame" in parameters else "read_file"
    return call_text(method, repo, path, start_line=first, end_line=last, revision=revision)


def python_block(call: str, base_url: str, notebook_url: str, *, name: str = "python", label: str = "") -> str:
    """Return HTML with a program, a button that copies it, and a link to its notebook.

    Parameters
    ----------
    call
        What to run.
    base_url
        The service's address.
    notebook_url
        Address of the notebook.
    name
        Identifier of the text, which no other on the page may have.
    label
        The subject of the program, for screen readers that list the buttons of a page.
    """
    about = f' aria-label="Copy as Python: {escape(label)}"' if label else ""
    return (
        f'<details class="use"><summary>Use in Python</summary><pre id="{name}" tabindex="0">'
        f'{escape(program(call, base_url))}</pre><button type="button" data-copy="{name}"{about}>'
        "Copy as Python</button> "
        f'<a href="{escape(notebook_url)}">Open in a notebook</a></details>'
    )


def notebook(call: str, base_url: str, name: str) -> Response:
    """Return a notebook with one cell, as a file."""
    lines = program(call, base_url).splitlines(keepends=True)
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": lines},
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    text = json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.ipynb"'}
    return Response(text.encode("utf-8", "replace"), media_type="application/x-ipynb+json", headers=headers)
