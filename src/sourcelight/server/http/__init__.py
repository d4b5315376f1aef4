"""The HTTP service: the search stream, pages, conversations, site configuration.

It has protocol, identity and permission only; engines search, and nothing here reads git or writes an index. Start with
`app`, then `stream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sourcelight.server.http.app import create_app as create_app
    from sourcelight.server.http.settings import Settings as Settings
    from sourcelight.server.http.settings import load_settings as load_settings

__all__ = ["Settings", "create_app", "load_settings"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from sourcelight.server.http import app

        return getattr(app, name)
    if name in {"Settings", "load_settings"}:
        from sourcelight.server.http import settings

        return getattr(settings, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
