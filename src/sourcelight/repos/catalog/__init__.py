"""The catalog: the served repositories, their names, and whether each is private.

A single repository is described, read and mirrored outside of this room; accounts and grants live in `state`. Start
with `catalog.Catalog`, then `naming.arrange`.
"""

from sourcelight.repos.catalog.catalog import Catalog
from sourcelight.repos.catalog.visibility import ServicePolicy

__all__ = ["Catalog", "ServicePolicy"]
