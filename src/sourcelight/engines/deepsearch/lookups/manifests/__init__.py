"""Manifests of packages: what they list, and the version of a language that they require.

Nothing is searched here: `dependencies` of the room above does that. Start with `formats`, which reads all of them;
`further_formats` has those that are read line by line.
"""

from sourcelight.engines.deepsearch.lookups.manifests.formats import read_requirements, requirements_rank
from sourcelight.engines.deepsearch.lookups.manifests.requirement import Requirement, is_same, normalize
from sourcelight.engines.deepsearch.lookups.manifests.runtimes import (
    MANIFESTS,
    OTHER_MANIFESTS,
    RUNTIME_CLAIMS,
    read_runtime,
)

__all__ = [
    "MANIFESTS",
    "OTHER_MANIFESTS",
    "RUNTIME_CLAIMS",
    "Requirement",
    "is_same",
    "normalize",
    "read_requirements",
    "read_runtime",
    "requirements_rank",
]
