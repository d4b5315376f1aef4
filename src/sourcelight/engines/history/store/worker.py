"""A worker process: reads the changes of the commits it is told, and leaves them in files.

Started as ``python -m sourcelight.engines.history.store.worker``. Each line on standard input is an order, each line on
standard output the answer to one (`done` or `failed`), all JSON. It ends when its input does.
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

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.store.allowance import Account, Cost, Effort
from sourcelight.engines.history.store.extract import extract
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.storage.sections import Array, write_sections

MODULE = "sourcelight.engines.history.store.worker"
"""What a worker process runs."""


@dataclass(frozen=True, slots=True)
class Order:
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
        """The order as it travels."""
        facts = [self.git_dir, self.folder, self.first, self.numbers, self.oids, astuple(self.allowance), self.effort]
        return json.dumps(facts).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Order:
        """An order that has travelled."""
        git_dir, folder, first, numbers, oids, allowance, effort = json.loads(line)
        return cls(git_dir, folder, first, tuple(numbers), tuple(oids), Cost(*allowance), effort)


def carry_out(order: Order, cancellation: Cancellation | None = None) -> tuple[list[str], list[int]]:
    """Read the commits; give the files of their parts in order, and the commits that could not be read."""
    files: list[str] = []

    def keep(part: Mapping[str, Array], cost: Cost) -> None:
        name = f"part-{order.first:09d}-{len(files):04d}"
        write_sections(Path(order.folder), "history", asdict(cost), part, name=name, durable=False)
        files.append(str(Path(order.folder, name)))

    ordinals = dict(zip((oid.encode() for oid in order.oids), order.numbers, strict=True))
    account, effort = Account(order.allowance), Effort(order.folder, order.effort)
    return files, extract(order.git_dir, ordinals, keep, account, effort, cancellation)


def _serve(orders: IO[bytes], answers: IO[bytes]) -> None:
    for line in orders:
        answer: dict[str, Any]
        try:
            files, unread = carry_out(Order.read(line))
            answer = {"event": "done", "files": files, "unread": unread}
        except Exception as fault:  # noqa: BLE001 - whoever gave the order reports the reason
            answer = {"event": "failed", "reason": reason_of(fault)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def main() -> None:
    """Serve orders until the input ends."""
    # Ctrl-C reaches all processes of a terminal: whether to stop is for the one that gave the orders to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
