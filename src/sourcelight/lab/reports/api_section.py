"""The section of the change report on public symbols."""

from __future__ import annotations

from sourcelight.core.markup import join_words
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section

_API_ORDER = ("removed", "changed", "moved", "added")
_API_EXCLUDES = "tests, examples, internal modules, and languages other than Go, Java, Python and TypeScript."


def api_section(api: Frame, link: LinkOf) -> Section:
    """Public symbols that differ; what breaks callers comes first."""
    if not len(api):
        return Section("Public symbols", "")
    columns = ["status", "kind", "module", "symbol", "signature", "old_signature", "path", "line_number", "old_path",
               "old_line_number", "language"]  # fmt: skip
    order = api["status"].astype("str").map({name: index for index, name in enumerate(_API_ORDER)})
    rows = api.assign(_order=order).sort_values(["_order", "module", "symbol"], kind="stable")[columns]
    counts = api["status"].astype("str").value_counts()
    text = join_words([f"{int(counts[name]):,} {name}" for name in _API_ORDER if name in counts])
    table = ReportTable(
        "api", "Public symbols that differ", rows.reset_index(drop=True),
        "Public definitions that base and head declare differently, by the rules of each language; signatures are "
        "compared as texts.",
        _API_EXCLUDES, "", ("module", "symbol", "status"), shown=40, link=link,
    )  # fmt: skip
    return Section("Public symbols", f"{text[:1].upper()}{text[1:]}.", (table,))
