"""How a client shows what it holds."""

from __future__ import annotations

from typing import Any

from sourcelight.client.methods.views import places_by_attrs
from sourcelight.client.provenance import mark_of
from sourcelight.core.errors import SourcelightError
from sourcelight.display.notebook.client_view import client_html, client_text


class ShowsOverview:
    """A client that shows its repositories, their sizes, and which indexes are ready. Asks no service."""

    backend: Any

    def __repr__(self) -> str:
        return client_text(type(self).__name__, self.backend.name, self._overview())

    def _repr_html_(self) -> str:
        attrs = {"endpoint": self.backend.name, "backend_id": mark_of(self.backend)}
        return client_html(type(self).__name__, self.backend.name, self._overview(), places_by_attrs(attrs))

    def _overview(self) -> Any:
        """What the backend knows without asking anyone; None for a service, and for what is closed."""
        overview = getattr(self.backend, "overview", None)
        try:
            return None if overview is None else overview()
        except (SourcelightError, OSError, RuntimeError):
            return None
