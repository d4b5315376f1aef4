"""How much memory an action takes in a process of its own, with all that it starts."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

from fork_server import ForkedProcess, fork_server

_PRELOADED = (
    "numpy",
    "pyarrow.compute",
    "pandas",
    "pygit2",
    "sourcelight",
    "sourcelight.client.client",
    "sourcelight.engines.execution",
    "sourcelight.engines.history",
    "sourcelight.engines.tools",
    "sourcelight.backends.embedded",
)
_TIMEOUT_S = 100

# A fork is smaller than a process that imported the same, since it shares what files are mapped to: 83 MB, not 133.
_FRAME = """
import json, resource, sys
import sourcelight
sys.stderr = sys.stdout
def peak(who):
    return resource.getrusage(who).ru_maxrss * (1024 if sys.platform == "linux" else 1)
idle = peak(resource.RUSAGE_SELF)
{action}
own = peak(resource.RUSAGE_SELF) - idle
print("\\n\\0" + json.dumps([own, peak(resource.RUSAGE_CHILDREN), idle]) + "\\n\\0" + answer)
"""


def peak_bytes(action: str, home: Path, **names: object) -> tuple[int, str]:
    """Run Python code in a process that is forked from one that has imported what it needs.

    Parameters
    ----------
    action
        The code; its last assignment to ``answer`` is handed back as text.
    home
        Folder for caches.
    names
        Values that the code sees, by their repr.

    Returns
    -------
    int
        Bytes above an idle process that it, or the largest process that it started, took at most.
    str
        What was assigned to ``answer``.
    """
    assignments = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    code = _FRAME.format(action=assignments + "answer = ''\n" + textwrap.dedent(action))
    environment = {**os.environ, "SOURCELIGHT_HOME": str(home)}
    process = ForkedProcess(fork_server(*_PRELOADED), code, [], environment)
    try:
        process.stdin.close()
        output = process.stdout.read()
        assert process.wait(_TIMEOUT_S) == 0, output[-3000:]
    finally:
        process.kill()
        process.stdout.close()
    _, sizes, result = output.rsplit("\n\x00", 2)
    process_peak, children, idle = json.loads(sizes)
    return max(process_peak, children - idle), result.rstrip("\n")
