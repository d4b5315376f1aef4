"""Columns of the tables that tools and analyses answer with; one module a domain. Pure data.

`TABLES` has them by name: the `columns` of an `sourcelight.core.batches.results.Answer`.
"""

from collections.abc import Mapping

from sourcelight.core.batches.schema import MATCHES, Column
from sourcelight.core.batches.tables import conversations, files, history, navigation

TABLES: Mapping[str, tuple[Column, ...]] = {
    **files.TABLES,
    **history.TABLES,
    **navigation.TABLES,
    **conversations.TABLES,
}

NOT_SUMMABLE: Mapping[str, Column] = {
    column.name: column for table in (MATCHES, *TABLES.values()) for column in table if not column.summable
}
"""Numbers whose sum over rows means nothing, by name; a name means the same in every table."""

__all__ = ["NOT_SUMMABLE", "TABLES"]
