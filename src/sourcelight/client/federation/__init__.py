"""Several services searched as one: a backend over the backends of other clients.

`searching` brings their streams together, says which rows are the same and in which order they stand; `calling` sends
calls of tools where they can be answered, and brings tables together. It knows services as backends only: none of their
kinds, no socket and no engine.
"""

from sourcelight.client.federation.backend import FederatedBackend, FederatedSearch
from sourcelight.client.federation.service import Service

__all__ = ["FederatedBackend", "FederatedSearch", "Service"]
