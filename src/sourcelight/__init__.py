"""Search, explore and report on git repositories from a notebook: live streams into DataFrames, with no server needed.

`open` searches repositories on this machine, `connect` a service, `open_cluster` a cluster. Everything public
is here, and loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sourcelight.backends.remote.recording import Recording, record, replay
    from sourcelight.client import (
        AsyncClient,
        Backend,
        Client,
        DeepSearchAnswer,
        Export,
        Features,
        IncompleteCountWarning,
        IncompleteResultWarning,
        ManyResult,
        QueryExplanation,
        RepeatedCommitsWarning,
        SearchResult,
        aconnect,
        afederate,
        aopen,
        aopen_cluster,
        asign_out,
        connect,
        federate,
        open,  # noqa: A004 - users write sourcelight.open
        open_cluster,
        sign_out,
        verify,
    )
    from sourcelight.core.errors import (
        ClientNotFound,
        ConfigurationError,
        ConnectFailed,
        Forbidden,
        GitFailed,
        IndexDamaged,
        IndexWriteFailed,
        InvalidArgument,
        MissingExtra,
        NoRepositories,
        NotFound,
        NotRecorded,
        PathNotFound,
        PatternError,
        ProtocolError,
        QueryError,
        RateLimited,
        RecordingError,
        RecordingInvalid,
        RepositoryError,
        RepositoryNotFound,
        RevisionNotFound,
        SearchFailed,
        SearchIndexError,
        ServiceError,
        SignInFailed,
        SourcelightError,
        StreamBroken,
        TimedOut,
        ToolError,
        TransportError,
        Unauthorized,
        UnsupportedQuery,
        UnsupportedTool,
    )
    from sourcelight.core.query import build as q
    from sourcelight.core.query import parse as parse_query
    from sourcelight.display.frames import columns_of
    from sourcelight.display.frames.readers import read_matches
    from sourcelight.display.frames.sql import sql
    from sourcelight.display.notebook import ProgressSnapshot
    from sourcelight.lab import plots, reports
    from sourcelight.lab.accessor import compare_results

__version__ = "0.2.0"

_CLIENT = (
    "AsyncClient",
    "Backend",
    "Client",
    "DeepSearchAnswer",
    "Export",
    "Features",
    "IncompleteResultWarning",
    "IncompleteCountWarning",
    "ManyResult",
    "QueryExplanation",
    "RepeatedCommitsWarning",
    "SearchResult",
    "aconnect",
    "afederate",
    "aopen",
    "aopen_cluster",
    "asign_out",
    "connect",
    "federate",
    "open",
    "open_cluster",
    "sign_out",
    "verify",
)
_ELSEWHERE = {
    **{name: ("sourcelight.backends.remote.recording", name) for name in ("Recording", "record", "replay")},
    **{name: ("sourcelight.client", name) for name in _CLIENT},
    "ProgressSnapshot": ("sourcelight.display.notebook", "ProgressSnapshot"),
    "columns_of": ("sourcelight.display.frames", "columns_of"),
    "compare_results": ("sourcelight.lab.accessor", "compare_results"),
    "parse_query": ("sourcelight.core.query", "parse"),
    "plots": ("sourcelight.lab.plots", ""),
    "q": ("sourcelight.core.query.build", ""),
    "read_matches": ("sourcelight.display.frames.readers", "read_matches"),
    "reports": ("sourcelight.lab.reports", ""),
    "sql": ("sourcelight.display.frames.sql", "sql"),
}
__all__ = [
    "AsyncClient",
    "Backend",
    "Client",
    "ClientNotFound",
    "ConfigurationError",
    "ConnectFailed",
    "DeepSearchAnswer",
    "Export",
    "Features",
    "Forbidden",
    "GitFailed",
    "IncompleteCountWarning",
    "IncompleteResultWarning",
    "IndexDamaged",
    "IndexWriteFailed",
    "InvalidArgument",
    "ManyResult",
    "MissingExtra",
    "NoRepositories",
    "NotFound",
    "NotRecorded",
    "PathNotFound",
    "PatternError",
    "ProgressSnapshot",
    "ProtocolError",
    "QueryError",
    "QueryExplanation",
    "RateLimited",
    "Recording",
    "RecordingError",
    "RecordingInvalid",
    "RepeatedCommitsWarning",
    "RepositoryError",
    "RepositoryNotFound",
    "RevisionNotFound",
    "SearchFailed",
    "SearchIndexError",
    "SearchResult",
    "ServiceError",
    "SignInFailed",
    "SourcelightError",
    "StreamBroken",
    "TimedOut",
    "ToolError",
    "TransportError",
    "Unauthorized",
    "UnsupportedQuery",
    "UnsupportedTool",
    "__version__",
    "aconnect",
    "afederate",
    "aopen",
    "aopen_cluster",
    "asign_out",
    "columns_of",
    "compare_results",
    "connect",
    "federate",
    "open",
    "open_cluster",
    "parse_query",
    "plots",
    "q",
    "read_matches",
    "record",
    "replay",
    "reports",
    "sign_out",
    "sql",
    "verify",
]
_is_accessor_registered = False


def __getattr__(name: str) -> Any:
    if name not in __all__:
        error = import_module("sourcelight.core.former_names").former_attribute("sourcelight", name)
        raise error or AttributeError(f"module 'sourcelight' has no attribute {name!r}")

    module_name, attribute = _ELSEWHERE.get(name, ("sourcelight.core.errors", name))
    module = import_module(module_name)
    if module_name == "sourcelight.client":
        _give_frames_their_accessor()

    value = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value


def _give_frames_their_accessor() -> None:
    """Register `DataFrame.code` with the first frame; it happens here, because frames know no client."""
    global _is_accessor_registered  # noqa: PLW0603 - once per process
    if not _is_accessor_registered:
        _is_accessor_registered = True
        extras = import_module("sourcelight.core.extras")
        extras.with_first_frame(lambda: import_module("sourcelight.lab.accessor").register())


def load_ipython_extension(shell: Any) -> None:
    """Add the magics and the completion of queries: ``%load_ext sourcelight``."""
    import_module("sourcelight.lab.magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics: ``%unload_ext sourcelight``."""
    import_module("sourcelight.lab.magics").unload(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
