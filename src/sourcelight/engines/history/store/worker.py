"""Read the changes of commits into files, for this process or as a worker process.

Started as ``python -m sourcelight.engines.history.store.worker``. Each line on standard input is a request, each line
on standard output an event (`done` or `failed`), all JSON. The process ends when its input does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import IO, Any

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.store.allowance import AllowanceUse, Cost, Effort
from sourcelight.engines.history.store.extraction import extract
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.storage.sections import write_sections

MODULE = "sourcelight.engines.history.store.worker"
"""Module that a worker process runs."""


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """Commits to read: `oids` (40 hex digits), their numbers from `first` on, and the folder for the parts.

    `allowance` is what they may cost, `effort` how many bytes git may write for all orders of the folder together.
    """

    git_dir: str
    folder: str
    first: int
    numbers: tuple[int, ...]
    oids: tuple[str, ...]
    allowance: Cost
    effort: int

    def line(self) -> bytes:
        """Return the request as a line of JSON."""
        fields = [self.git_dir, self.folder, self.first, self.numbers, self.oids, astuple(self.allowance), self.effort]
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> ExtractionRequest:
        """Parse a request from its line."""
        git_dir, folder, first, numbers, oids, allowance, effort = json.loads(line)
        return cls(git_dir, folder, first, tuple(numbers), tuple(oids), Cost(*allowance), effort)


def extract_to_files(
    request: ExtractionRequest, cancellation: Cancellation | None = None
) -> tuple[list[str], list[int]]:
    """Read the commits; return the files of their parts in order, and the commits that could not be read."""
    files: list[str] = []

    def keep(part: Mapping[str, AnyArray], cost: Cost) -> None:
        name = f"part-{request.first:09d}-{len(files):04d}"
        # Not durable: the parts are scratch files, and the segment made of them is synced.
        write_sections(Path(request.folder), "history", asdict(cost), part, name=name, durable=False)
        files.append(str(Path(request.folder, name)))

    ordinals = dict(zip((oid.encode() for oid in request.oids), request.numbers, strict=True))
    account, effort = AllowanceUse(request.allowance), Effort(request.folder, request.effort)
    return files, extract(request.git_dir, ordinals, keep, account, effort, cancellation)


def main() -> None:
    """Serve requests until the input ends."""
    # Ctrl-C reaches every process of a terminal. The parent decides whether to stop, and kills this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output carries the answers. What libraries print goes to standard error, or it would break the JSON.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, answers)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    for line in requests:
        answer: dict[str, Any]
        try:
            files, unread = extract_to_files(ExtractionRequest.read(line))
            answer = {"event": "done", "files": files, "unread": unread}
        except Exception as error:  # noqa: BLE001 - the sender of the order reports the reason
            answer = {"event": "failed", "reason": reason_of(error)}
        answers.write(json.dumps(answer).encode() + b"\n")
        # The parent waits for this line; without the flush it stays in the pipe's buffer until the process ends.
        answers.flush()


if __name__ == "__main__":
    main()
