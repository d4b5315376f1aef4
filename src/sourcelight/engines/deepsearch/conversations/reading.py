"""What a reader may see of a question: permissions are checked when it is read, not when it was asked."""

from __future__ import annotations

from dataclasses import replace

from sourcelight.engines.deepsearch.conversations.records import Question, Shown
from sourcelight.engines.deepsearch.researchers.finish import Segment, joined
from sourcelight.repos import Catalog, Viewer

WITHHELD_WHOLE = (
    "This answer is withheld: a model wrote it after reading repositories of which you may not read all, and what it "
    "took from which can't be told apart."
)
_EXTRACTIVE = "extractive"


def shown_to(question: Question, viewer: Viewer, catalog: Catalog) -> Shown:
    """Leave out what speaks of repositories that the viewer may not see.

    As soon as one repository behind the question is invisible, an answer that was not put together from quotes alone is
    withheld whole: no part of what a model wrote can be said to rest on one repository only. Of the others only fixed
    headings and pieces stay that speak of visible repositories alone; what speaks of none (counts, suggestions) might
    tell of the invisible ones too, and goes with them. One line says how many citations were withheld.
    """
    cited = [source for source in question.sources if source.status != "rejected"]
    rejected = tuple(source for source in question.sources if source.status == "rejected")
    hidden = _hidden(question, viewer, catalog)
    if not hidden:
        answer = joined(question.segments)
        return Shown(question, answer, tuple(cited), question.tables, question.followups, question.stats, 0, rejected)
    withheld = sum(source.type in {"file", "commit"} and source.repository in hidden for source in cited)
    bare = replace(
        question,
        pins=tuple(pin for pin in question.pins if pin.repository not in hidden),
        segments=(),
        sources=(),
        tables=(),
        followups=(),
        stats={},
        error={name: text for name, text in question.error.items() if name in {"kind", "title"}},
        earlier_repositories=(),
    )
    if question.researcher != _EXTRACTIVE:
        answer = f"{WITHHELD_WHOLE}\n" if question.status == "completed" else ""
        return Shown(bare, answer, (), (), (), {}, withheld, is_partial=True)
    segments = tuple(
        segment
        for segment in question.segments
        if segment.kind == "heading" or (segment.repositories and not hidden & set(segment.repositories))
    )
    sources, rejected = (
        tuple(source for source in some if source.repository and source.repository not in hidden)
        for some in (cited, rejected)
    )
    note = f"{withheld:,} citation{'' if withheld == 1 else 's'} into repositories that you may not read were withheld."
    answer = joined([*segments, Segment("block", note)]) if question.status == "completed" else ""
    bare = replace(bare, segments=segments, sources=sources)
    return Shown(bare, answer, sources, (), (), {}, withheld, rejected, is_partial=True)


def _hidden(question: Question, viewer: Viewer, catalog: Catalog) -> set[str]:
    """Give the repositories of a question that the viewer may not see; whoever sees all sees absent ones too."""
    if viewer.sees_private:
        return set()
    seen = {repository.name for repository in catalog.visible(viewer)}
    names = {pin.repository for pin in question.pins} | {source.repository for source in question.sources}
    names |= set(question.earlier_repositories)
    return {name for name in names if name and name not in seen}
