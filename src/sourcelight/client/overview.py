"""The display of a client."""

from __future__ import annotations

from sourcelight.client.methods.views import places_by_attrs
from sourcelight.client.provenance import mark_of
from sourcelight.core.backend import Backend, HasBackend
from sourcelight.core.batches.events import RepositoryOverview
from sourcelight.core.errors import SourcelightError
from sourcelight.display.notebook.client_view import client_html, client_text


class ShowsOverview:
    """A client that shows its repositories, their sizes, and which indexes are ready. Asks no service."""

    def __repr__(self: HasBackend) -> str:
        return client_text(type(self).__name__, self.backend.name, _overview(self.backend))

    def _repr_html_(self: HasBackend) -> str:
        backend = self.backend
        attrs = {"endpoint": backend.name, "backend_id": mark_of(backend)}
        return client_html(type(self).__name__, backend.name, _overview(backend), places_by_attrs(attrs))


def _overview(backend: Backend) -> tuple[RepositoryOverview, ...] | None:
    """What the backend knows without a request; None for a service and for a closed client."""
    try:
        return backend.features.overview()
    except (SourcelightError, OSError, RuntimeError):
        return None
