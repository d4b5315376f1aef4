"""Questions for a number or a list: "how many files import `os`", "list all TODOs in src".

Phrases that questions of other kinds have too are in `phrases`. Start at `reader`, which finds the counted noun;
`conditions` narrows it. `wording` rewrites
everyday words, and `parts` reads questions for things with files of their own.
"""

from sourcelight.engines.deepsearch.question.counts.conditions import read_modules
from sourcelight.engines.deepsearch.question.counts.entries import read_entries
from sourcelight.engines.deepsearch.question.counts.parts import read_parts
from sourcelight.engines.deepsearch.question.counts.reader import CountReader
from sourcelight.engines.deepsearch.question.counts.wording import expand_count_wording

__all__ = ["CountReader", "expand_count_wording", "read_entries", "read_modules", "read_parts"]
