"""A client as a line of text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.batches.events import RepositoryOverview
from sourcelight.core.markup import NO_MATH, count_of, escape, link, one_line
from sourcelight.core.markup.counts import size_text
from sourcelight.display.notebook.views.links import LinkResolver

_ROWS = 20
"""Repositories that are listed."""

_STYLE = """<style>
.sl-client{color:var(--jp-ui-font-color1,inherit);font-size:13px}
.sl-client table{border-collapse:collapse;border:none;margin:4px 0 0;font-size:12px}
.sl-client th,.sl-client td{text-align:left !important;padding:2px 14px 2px 0 !important;white-space:nowrap}
.sl-client th{font-weight:600;border-bottom:1px solid var(--jp-border-color1,rgba(127,127,127,.5))}
.sl-client tbody tr{background:none !important;border-bottom:1px solid var(--jp-border-color2,rgba(127,127,127,.25))}
.sl-client .sl-number{text-align:right !important;font-variant-numeric:tabular-nums}
.sl-client .sl-dim{color:var(--jp-ui-font-color2,inherit)}
.sl-client a{color:var(--jp-content-link-color,#1565c0)}
</style>"""


def client_text(kind: str, name: str, repositories: Sequence[RepositoryOverview] | None) -> str:
    """Return one line: the backend and its size; stable while the repositories are.

    Parameters
    ----------
    kind
        Name of the client's class.
    name
        Where it is: ``embedded``, or an address.
    repositories
        What it holds; None when only the service knows.
    """
    if repositories is None:
        return f"{kind}({name})"
    return f"{kind}({name}: {_sums(repositories)})"


def client_html(kind: str, name: str, repositories: Sequence[RepositoryOverview] | None, resolver: LinkResolver) -> str:
    """Return the same with a table of the first repositories: sizes, and which indexes are ready."""
    if repositories is None:
        hint = "<code>list_repos()</code> lists what the service has"
        return f'{_STYLE}<div class="sl-client"><b>{escape(kind)}</b> of {link(name, name)}<br>{hint}</div>'

    visible = repositories[:_ROWS]
    rows = "".join(_row(repository, resolver) for repository in visible)
    remaining = len(repositories) - len(visible)
    if remaining:
        more_html = f'<div class="sl-dim">and {remaining:,} more: <code>list_repos()</code> lists all</div>'
    else:
        more_html = ""
    heads = (
        '<th scope="col">repository</th><th scope="col">commit</th><th scope="col" class="sl-number">files</th>'
        '<th scope="col" class="sl-number">text</th><th scope="col" class="sl-number">indexes</th>'
        '<th scope="col">ready</th>'
    )
    return (
        f'{_STYLE}<div class="sl-client {NO_MATH}"><b>{escape(kind)}</b> '
        f"({escape(one_line(name, 200))}): {escape(_sums(repositories))}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more_html}</div>"
    )


def _sums(repositories: Sequence[RepositoryOverview]) -> str:
    count = len(repositories)
    text = count_of(count, "repository")
    indexed = [repository for repository in repositories if repository.text_bytes is not None]
    if indexed:
        files = sum(repository.files or 0 for repository in indexed)
        size = sum(repository.text_bytes or 0 for repository in indexed)
        text += f", {count_of(files, 'file')}, {size_text(size)} of text"

    if any(repository.ready for repository in repositories) and len(indexed) < count:
        text += f", {count - len(indexed):,} not indexed yet"

    return text


def _row(repository: RepositoryOverview, links: LinkResolver) -> str:
    name = link(one_line(repository.name, 60), links.repository(repository.name))
    ready = [kind for kind, is_ready in repository.ready.items() if is_ready]
    missing = [kind for kind, is_ready in repository.ready.items() if not is_ready]
    later = f' <span class="sl-dim">({", ".join(missing)} when first needed)</span>' if missing else ""
    files = "" if repository.files is None else f"{repository.files:,}"
    return (
        f"<tr><td>{name}</td><td><code>{escape(repository.commit[:10])}</code></td>"
        f'<td class="sl-number">{files}</td><td class="sl-number">{_size(repository.text_bytes)}</td>'
        f'<td class="sl-number">{_size(repository.disk_bytes)}</td><td>{escape(", ".join(ready))}{later}</td></tr>'
    )


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else size_text(size_bytes)
