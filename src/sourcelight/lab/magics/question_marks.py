"""Lets a line magic end with a question mark, which IPython would take for a call for help.

``%ask Why?`` is a question and ``%search colou?r?`` a query; ``%ask?`` and ``%search?`` still show their help.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINE = re.compile(r"^(?P<before>\s*(?:[A-Za-z_]\w*\s*=\s*)?)%(?P<magic>search|commits|ask)\s+(?P<rest>\S.*\?)\s*$")


def asked(lines: Sequence[str]) -> list[str]:
    """The lines of a cell, with such magics as the calls that IPython would make of them; for IPython's transformers.

    Lines inside of a text over several lines stay as they are.
    """
    made: list[str] = []
    inside = False
    for line in lines:
        found = None if inside else _LINE.match(line)
        if found:
            made.append(f"{found['before']}get_ipython().run_line_magic({found['magic']!r}, {found['rest']!r})\n")
        else:
            made.append(line)
            inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return made
