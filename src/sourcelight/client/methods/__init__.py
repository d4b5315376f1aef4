"""The service's tools and the analyses as methods, one module per domain; each call returns a DataFrame.

A module has a class of awaited methods for `AsyncClient`, and beside it the class of their blocking twins for `Client`,
one line per method. A method's parameters have the tool's own names; where these are camelCase, snake_case is taken
too. All go through `ToolCaller._call`, for every backend.
"""

from sourcelight.client.methods.analyses import AnalysisMethods, BlockingAnalysisMethods
from sourcelight.client.methods.blame import BlameMethods, BlockingBlameMethods
from sourcelight.client.methods.conversations import BlockingConversationMethods, ConversationMethods
from sourcelight.client.methods.evolution import BlockingEvolutionMethods, EvolutionMethods
from sourcelight.client.methods.files import BlockingToolMethods, ToolMethods
from sourcelight.client.methods.history import BlockingHistoryMethods, HistoryMethods
from sourcelight.client.methods.inspection import BlockingInspectionMethods, InspectionMethods
from sourcelight.client.methods.navigation import BlockingNavigationMethods, NavigationMethods
from sourcelight.client.methods.quality import BlockingQualityMethods, QualityMethods
from sourcelight.client.methods.views import BlockingViewMethods, ViewMethods


class Methods(
    ToolMethods,
    HistoryMethods,
    InspectionMethods,
    BlameMethods,
    AnalysisMethods,
    EvolutionMethods,
    QualityMethods,
    NavigationMethods,
    ConversationMethods,
    ViewMethods,
):
    """All awaited methods that give DataFrames of calls."""


class BlockingMethods(
    BlockingToolMethods,
    BlockingHistoryMethods,
    BlockingInspectionMethods,
    BlockingBlameMethods,
    BlockingAnalysisMethods,
    BlockingEvolutionMethods,
    BlockingQualityMethods,
    BlockingNavigationMethods,
    BlockingConversationMethods,
    BlockingViewMethods,
):
    """The twins of all of them."""


__all__ = ["BlockingMethods", "Methods"]
