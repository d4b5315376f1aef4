"""The HTTP service: the stream endpoint, its pages, identity of callers, site configuration.

It holds no logic beyond protocol, identity and permission: searching is the engine's. Nothing here knows the command
line, reads git or writes an index.
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
