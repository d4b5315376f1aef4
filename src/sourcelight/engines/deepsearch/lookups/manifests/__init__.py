"""Manifests of packages: what they list, and the version of a language that they require.

Nothing is searched here: `dependencies` of the room above does that. Start with `formats`, which reads all of them.
`line_formats` has those that are read line by line, `partial_formats` those that may list more than what is read, and
`fields` the rest of a manifest.
"""

from sourcelight.engines.deepsearch.lookups.manifests.fields import (
    ManifestField,
    package_name,
    read_feature,
    read_fields,
)
from sourcelight.engines.deepsearch.lookups.manifests.formats import (
    PARTLY_READ,
    READ_WHOLE,
    lists_by_reference,
    read_requirements,
    requirements_rank,
)
from sourcelight.engines.deepsearch.lookups.manifests.lock_formats import LOCK_FILES, LockedVersion, read_locked
from sourcelight.engines.deepsearch.lookups.manifests.python_formats import read_empty_extras
from sourcelight.engines.deepsearch.lookups.manifests.requirement import (
    BY_NAME,
    MAX_LINE,
    PLATFORM,
    PLUGIN,
    Likeness,
    Requirement,
    has_word,
    is_called,
    is_same,
    likeness,
    normalize,
    says_scope,
    without_comments,
)
from sourcelight.engines.deepsearch.lookups.manifests.runtimes import (
    MANIFESTS,
    OTHER_MANIFESTS,
    RUNTIME_CLAIMS,
    can_require,
    read_runtime,
)

__all__ = [
    "BY_NAME",
    "LOCK_FILES",
    "MANIFESTS",
    "MAX_LINE",
    "OTHER_MANIFESTS",
    "PARTLY_READ",
    "PLATFORM",
    "PLUGIN",
    "READ_WHOLE",
    "RUNTIME_CLAIMS",
    "Likeness",
    "LockedVersion",
    "ManifestField",
    "Requirement",
    "can_require",
    "has_word",
    "is_called",
    "is_same",
    "likeness",
    "lists_by_reference",
    "normalize",
    "package_name",
    "read_empty_extras",
    "read_feature",
    "read_fields",
    "read_locked",
    "read_requirements",
    "read_runtime",
    "requirements_rank",
    "says_scope",
    "without_comments",
]
