"""Questions for a number or a list: "how many files import `os`", "list all TODOs in src".

Phrases that questions of other kinds have too are in `phrases`. Start at `reader`, which finds the counted noun;
`conditions` narrows it.
"""

from sourcelight.engines.deepsearch.question.counts.conditions import read_modules
from sourcelight.engines.deepsearch.question.counts.reader import CountReader

__all__ = ["CountReader", "read_modules"]
