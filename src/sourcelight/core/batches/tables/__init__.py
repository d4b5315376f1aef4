"""Columns of the tables that tools and analyses answer with; one module a domain. Pure data.

`TABLES` has them by name: the `columns` of an `sourcelight.core.batches.answers.Answer`.
"""

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column
from sourcelight.core.batches.tables import conversations, files, history, navigation

TABLES: Mapping[str, tuple[Column, ...]] = {
    **files.TABLES,
    **history.TABLES,
    **navigation.TABLES,
    **conversations.TABLES,
}

__all__ = ["TABLES"]
