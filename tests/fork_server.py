"""Python programs as processes of their own, forked from one that has imported what they need.

To import Dask and the engines takes a process over a second of a core, and clusters of tests have dozens of processes.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

PRELOADED = (
    "distributed",
    "sourcelight.backends.cluster.build.generations",
    "sourcelight.backends.cluster.worker.process",
    "sourcelight.backends.cluster.worker.tool_calls",
    "sourcelight.backends.embedded",
    "sourcelight.cli.cluster",
    "sourcelight.engines.tools",
)
_MAX_BYTES = 1 << 17


class ForkedProcess:
    """A process of the server, with the part of `subprocess.Popen` that tests of clusters need.

    Parameters
    ----------
    server
        What forks it.
    code
        Python to run as ``__main__``.
    arguments
        ``sys.argv`` after its first word.
    environment
        All variables of the process.
    """

    def __init__(self, server: ForkServer, code: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self._server = server
        child_in, parent_in = os.pipe()
        parent_out, child_out = os.pipe()
        request = {"code": code, "arguments": list(arguments), "environment": dict(environment)}
        try:
            self.pid: int = server.ask(request, child_in, child_out)
        finally:
            os.close(child_in)
            os.close(child_out)
        self.stdin = os.fdopen(parent_in, "w")
        self.stdout = os.fdopen(parent_out)

    def poll(self) -> int | None:
        """Return the status that it ended with, that of a signal negative, or None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask({"status_of": self.pid})
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait for its end, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:  # the server reaps it only when it is asked, so that the number is still its own
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that forks others; it ends with this one, however this one ends.

    Parameters
    ----------
    modules
        What it imports before it forks.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = [str(Path(__file__).parent), *filter(None, sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno()), *modules],
            # A thread of OpenBLAS would not be there after a fork. Dask reads its settings when it is imported.
            env={
                **os.environ,
                "DASK_LOGGING__DISTRIBUTED": "error",
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join(paths),
            },
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        other.close()
        atexit.register(self._close)

    def ask(self, request: Mapping[str, Any], *files: int) -> Any:
        """Send a request with open files, and return the answer."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], files)
            answer = self._socket.recv(_MAX_BYTES)
        assert answer, "the process that forks others has ended"
        return json.loads(answer)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait(10)


@functools.cache
def fork_server(*modules: str) -> ForkServer:
    """The server that has imported these modules, or `PRELOADED`; started when this process first asks for it."""
    return ForkServer(modules or PRELOADED)


Process: TypeAlias = subprocess.Popen[str] | ForkedProcess


def start_python(code: str, arguments: Sequence[str], *modules: str) -> Process:
    """Run Python code in a fork of a process that has imported `modules`, or in a new one on systems without forks.

    What it prints as an error goes to the same pipe as its output.
    """
    code = "import sys\nsys.stderr = sys.stdout\n" + code
    if hasattr(os, "fork"):
        return ForkedProcess(fork_server(*modules), code, arguments, os.environ)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=pipe, stdout=pipe, text=True)


def _next_program(connection: socket.socket) -> dict[str, Any]:
    """Serve requests; returns only in a forked process, with what it is to run."""
    statuses: dict[int, int] = {}
    while True:
        data, files, _, _ = socket.recv_fds(connection, _MAX_BYTES, 2)
        if not data:
            sys.exit(0)
        request: dict[str, Any] = json.loads(data)
        answer: int | None
        if "code" in request:
            answer = os.fork()
            if answer == 0:
                connection.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
            for file in files:
                os.close(file)
            if answer == 0:
                return request
        else:
            pid = request["status_of"]
            if pid not in statuses:
                reaped, status = os.waitpid(pid, os.WNOHANG)
                if reaped:
                    statuses[pid] = os.waitstatus_to_exitcode(status)
            answer = statuses.get(pid)
        connection.send(json.dumps(answer).encode())


def _main() -> None:
    # An interrupt of the tests is for them.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # what is never looked at is never copied
    program = _next_program(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, previous)
    os.environ.clear()
    os.environ.update(program["environment"])
    sys.argv = ["-c", *program["arguments"]]
    exec(program["code"], {"__name__": "__main__"})  # noqa: S102 - our tests' own


if __name__ == "__main__":
    _main()
