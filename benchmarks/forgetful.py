"""``sourcelight serve`` that takes each query for one that was never asked: run it with the arguments of that command.

Before each search it drops what it knows of queries: how they read, their plans, compiled patterns, and with these
where they were found and which paths pass them. What it knows of repositories stays, as in a service that has been
running. The dropping is part of what is measured: some ten microseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from sourcelight.cli import main
from sourcelight.engines.execution import LocalEngine
from sourcelight.server.http.stream import SearchStream

_OF_QUERIES = ("sourcelight.core.query", "sourcelight.core.patterns", "sourcelight.engines.search.index.postings")
_OF_ALL = frozenset({"_cased_wide_characters", "_every_wide_character"})
"""Tables of Unicode, which are made once for all queries."""


def caches() -> list[Callable[[], None]]:
    """What drops the results kept by functions about queries."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(_OF_QUERIES)]
    results = {
        id(value): value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")
    }
    return [value.cache_clear for value in results.values() if value.__name__ not in _OF_ALL]


def forgetting() -> None:
    """Make every search of a service begin with forgetting."""
    engines: list[LocalEngine] = []
    original, answer, answer_at_once = LocalEngine.__init__, SearchStream.__call__, SearchStream.answer_at_once
    clears: list[Callable[[], None]] = []

    def noted(self: LocalEngine, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        engines.append(self)

    def forget() -> None:
        clears[:] = clears or caches()
        for clear in clears:
            clear()
        for engine in engines:
            engine.forget_queries()

    async def forgetful(self: SearchStream, scope: Scope, receive: Receive, send: Send) -> None:
        forget()
        await answer(self, scope, receive, send)

    def forgetful_at_once(self: SearchStream, *args: Any) -> Any:
        forget()
        return answer_at_once(self, *args)

    LocalEngine.__init__ = noted  # type: ignore[method-assign]  # this script is about nothing else
    SearchStream.__call__ = forgetful  # type: ignore[method-assign]  # as above
    SearchStream.answer_at_once = forgetful_at_once  # type: ignore[assignment,method-assign]  # the shortcut


if __name__ == "__main__":
    forgetting()
    sys.exit(main(sys.argv[1:]))
