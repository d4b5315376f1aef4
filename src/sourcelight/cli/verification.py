"""`verify`: check the citations of a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sourcelight.cli.options import Paths, ServiceUrl, path_texts
from sourcelight.cli.output import DONE, NO_MATCH, print_line, say
from sourcelight.cli.search import SearchCommand, check_source, open_client
from sourcelight.core.markup import visible


def verify_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Markdown text with citations; - reads standard input.")],
    paths: Paths = None,
    *,
    url: ServiceUrl = None,
    repo: Annotated[str, typer.Option(help="Repository of citations that name none.")] = "",
    revision: Annotated[str, typer.Option(help="Branch, tag or commit of citations that name none.")] = "",
) -> int:
    """Check the citations of a text: links to lines, path:12, path#L3-L9, quoted code.

    Writes one line per citation: verified, moved (with its place now) or rejected, and why. Looks at PATH, else the
    service of --url or SRC_ENDPOINT, else the current directory. Exit status 1 if any is rejected.
    """
    check_source(paths, url)
    text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8", "replace")
    with open_client(SearchCommand(paths=path_texts(paths), url=url or "")) as client:
        frame = client.verify(text, repo or None, revision or None, progress=False)
    for row in frame.to_dict("records"):
        reason = f": {row['reason']}" if row["reason"] else ""
        print_line(visible(f"{row['text_line']}: {row['status']} {row['citation']}{reason}"))
    counts = [f"{frame.attrs[status]} {status}" for status in ("verified", "moved", "rejected")]
    say(", ".join(counts))
    return NO_MATCH if frame.attrs["rejected"] else DONE
