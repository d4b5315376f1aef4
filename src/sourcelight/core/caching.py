"""What was worked out before, kept while it is used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

_MOST_REMEMBERED = 48

_T = TypeVar("_T")


class Remembering:
    """Keeps the last things that were made for it, `most` of them. Safe to share between threads."""

    def __init__(self, most: int = _MOST_REMEMBERED) -> None:
        self._most = most
        self._remembered: OrderedDict[Any, Any] = OrderedDict()
        self._guard = threading.Lock()

    def remember(self, key: Any, make: Callable[[], _T], worth_it: Callable[[_T], bool] | None = None) -> _T:
        """Give what was made for `key` before, or make it now; kept if `worth_it` says so of it."""
        with self._guard:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                found: _T = self._remembered[key]
                return found
        made = make()
        if worth_it is not None and not worth_it(made):
            return made
        with self._guard:
            self._remembered[key] = made
            if len(self._remembered) > self._most:
                self._remembered.popitem(last=False)
        return made
