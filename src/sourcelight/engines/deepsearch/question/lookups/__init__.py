"""Questions that a line answers: of code, of its history, of a manifest or a configuration.

Counts and events are read in the room above. Start with `reader`, which tries `forms`, and `builds` for manifests.
"""

from sourcelight.engines.deepsearch.question.lookups.reader import Lookup, read_lookup

__all__ = ["Lookup", "read_lookup"]
