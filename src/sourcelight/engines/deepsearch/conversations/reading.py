"""What a reader may see of a question: permissions are checked when it is read, not when it was asked."""

from __future__ import annotations

from dataclasses import replace

from sourcelight.engines.deepsearch.conversations.records import Question, Shown
from sourcelight.engines.deepsearch.researchers.finish import Segment, joined
from sourcelight.repos import Catalog, Viewer


def shown_to(question: Question, viewer: Viewer, catalog: Catalog) -> Shown:
    """Leave out what speaks of repositories that the viewer may not see.

    As soon as one pinned repository is invisible, only headings and pieces stay that speak of visible ones alone; what
    speaks of none (counts, suggestions) might tell of the invisible ones too, and goes with them. One line says how
    many citations were withheld.
    """
    cited = [source for source in question.sources if source.status != "rejected"]
    rejected = tuple(source for source in question.sources if source.status == "rejected")
    hidden = _hidden(question, viewer, catalog)
    if not hidden:
        answer = joined(question.segments)
        return Shown(question, answer, tuple(cited), question.tables, question.followups, question.stats, 0, rejected)
    kept = [
        segment
        for segment in question.segments
        if segment.kind == "heading" or (segment.repositories and not hidden & set(segment.repositories))
    ]
    sources, rejected = (
        tuple(source for source in some if source.repository and source.repository not in hidden)
        for some in (cited, rejected)
    )
    withheld = sum(source.type in {"file", "commit"} and source.repository in hidden for source in cited)
    note = f"{withheld:,} citation{'' if withheld == 1 else 's'} into repositories that you may not read were withheld."
    answer = joined([*kept, Segment("block", note)]) if question.status == "completed" else ""
    bare = replace(
        question,
        pins=tuple(pin for pin in question.pins if pin.repository not in hidden),
        segments=tuple(kept),
        sources=sources,
        tables=(),
        followups=(),
        stats={},
        error={name: text for name, text in question.error.items() if name in {"kind", "title"}},
    )
    return Shown(bare, answer, sources, (), (), {}, withheld, rejected)


def _hidden(question: Question, viewer: Viewer, catalog: Catalog) -> set[str]:
    """Give the repositories of a question that the viewer may not see; whoever sees all sees absent ones too."""
    if viewer.sees_private:
        return set()
    seen = {repository.name for repository in catalog.visible(viewer)}
    names = {pin.repository for pin in question.pins} | {source.repository for source in question.sources}
    return {name for name in names if name and name not in seen}
