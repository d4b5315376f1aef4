"""Record batches: the tables that engines, backends and frames exchange, and their codecs to and from wire JSON.

No I/O, no search and no pandas; the stream's own bytes and events are in `sourcelight.core.wire`. Start with `schema`,
which defines the rows of matches; `codecs` convert between batches and JSON. pyarrow loads on first use.
"""

from sourcelight.core.batches.events import (
    NO_COMMIT,
    CommitId,
    Event,
    MatchBatch,
    OtherMatch,
    OtherMatches,
    RepositoryInfo,
    ServiceStatus,
    ServiceStatuses,
)
from sourcelight.core.batches.schema import MATCHES, SERVICE, Column, arrow_type, conform, matches_schema
from sourcelight.core.cancellation import Cancellation

__all__ = [
    "MATCHES",
    "NO_COMMIT",
    "SERVICE",
    "Cancellation",
    "Column",
    "CommitId",
    "Event",
    "MatchBatch",
    "OtherMatch",
    "OtherMatches",
    "RepositoryInfo",
    "ServiceStatus",
    "ServiceStatuses",
    "arrow_type",
    "conform",
    "matches_schema",
]
