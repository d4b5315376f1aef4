"""The cited lines of an answer, for readers in this process, where a citation has no page to lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcelight.core.errors import SourcelightError
from sourcelight.engines.deepsearch.conversations.records import StoredSource
from sourcelight.engines.deepsearch.evidence.quotes import lines_of
from sourcelight.engines.deepsearch.redaction import is_hidden_file, redact
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import Target
from sourcelight.engines.tools import ToolContext

_MOST = 60
_MAX_LINES = 60
_MAX_CHARACTERS = 8_000


def read_excerpts(sources: Sequence[StoredSource], context: ToolContext) -> Mapping[str, str]:
    """Return the lines that file citations stand for, by their links; of what a service answers, none.

    Lines are read from git at the cited commit, with the viewer's permissions and without secrets. A file that can't be
    read has none.
    """
    if context.served or not isinstance(context.engine, LocalEngine):
        return {}
    excerpts: dict[str, str] = {}
    files: dict[tuple[str, str, str], list[str]] = {}
    cited = [item for item in sources if item.type == "file" and item.link and not is_hidden_file(item.path)]
    for source in cited[:_MOST]:
        key = source.repository, source.commit, source.path
        if key not in files:
            try:
                repository = context.engine.catalog.get(source.repository, context.viewer)
                target = Target(repository, "", source.commit)
                files[key] = lines_of(context.engine.store.read(target, source.path) or b"")
            except (SourcelightError, OSError, ValueError):
                files[key] = []
        last = min(source.end_line, source.begin_line + _MAX_LINES - 1)
        text = "\n".join(files[key][max(source.begin_line, 1) - 1 : last])
        if text.strip():
            excerpts[source.link] = redact(text)[:_MAX_CHARACTERS]
    return excerpts
