"""The customs by which tests are told from other code within a file.

Nothing is searched here: a custom has the query for a search. Start with `table`.
"""

from sourcelight.engines.deepsearch.source.test_customs.lines import is_in_test_module, keep_tests
from sourcelight.engines.deepsearch.source.test_customs.table import TEST_CUSTOMS

__all__ = ["TEST_CUSTOMS", "is_in_test_module", "keep_tests"]
