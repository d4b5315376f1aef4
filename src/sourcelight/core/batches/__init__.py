"""Record batches: the currency between engines, backends and frames, and their codecs to and from wire JSON.

Pure: no I/O. pyarrow is loaded on first use.
"""

from sourcelight.core.batches.events import Event, MatchBatch, RepositoryInfo, ServiceStatus, ServiceStatuses
from sourcelight.core.batches.schema import MATCHES, SERVICE, Column, arrow_type, conform, matches_schema
from sourcelight.core.cancellation import Cancellation

__all__ = [
    "MATCHES",
    "SERVICE",
    "Cancellation",
    "Column",
    "Event",
    "MatchBatch",
    "RepositoryInfo",
    "ServiceStatus",
    "ServiceStatuses",
    "arrow_type",
    "conform",
    "matches_schema",
]
