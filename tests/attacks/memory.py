"""How much memory an action takes in a process of its own, with all that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

_FRAME = """
import json, resource, sys
import numpy, pyarrow, pandas, pygit2
import sourcelight
import sourcelight.engines.execution
import sourcelight.backends.embedded
def peak(who):
    return resource.getrusage(who).ru_maxrss * (1024 if sys.platform == "linux" else 1)
idle = peak(resource.RUSAGE_SELF)
problem = ""
{action}
own = peak(resource.RUSAGE_SELF) - idle
print(json.dumps([own, peak(resource.RUSAGE_CHILDREN), idle]))
"""


def peak_bytes(action: str, home: Path, **names: object) -> tuple[int, str]:
    """Run Python code in a new process.

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
    code = _FRAME.format(action=assignments + "answer = ''\n" + textwrap.dedent(action)) + "\nprint(answer)\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "SOURCELIGHT_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    process_peak, children, idle = eval(done.stdout.splitlines()[0])  # noqa: S307 - three numbers that we printed
    return max(process_peak, children - idle), done.stdout.partition("\n")[2].rstrip("\n")
