"""How much faster a recorded stream becomes record batches than its data lines become dicts.

Run: ``python benchmarks/decode.py [PORTION_BYTES]``. It generates three streams of about 10 MB each (matched lines of
code in ASCII, the same with accents and emoji, chunks with context), then times ``json.loads`` of each data line
against splitting the stream, read in portions of 1 MiB, and decoding it to batches; both keep what they made. Rounds
are interleaved; times are CPU time; the ratio is the median of the rounds' ratios. It exits with 1 if the ratio of the
first stream is below 2.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sourcelight.core.batches.decode import MatchDecoder
from sourcelight.core.wire import Decoder, frame
from sourcelight.core.wire.encode import dump

EVENT_BYTES = 32 * 1024
EVENTS = 300
PORTION_BYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 1024 * 1024
ROUNDS = 7
WANTED = 2.0

WORDS = [
    "func",
    "return",
    "err",
    "nil",
    "context",
    "the",
    "for",
    "if",
    ":=",
    "<T>",
    "&",
    "==",
    "!=",
    "struct",
    "interface",
    "package",
    "import",
    "string",
    "map",
]
ACCENTED = [*WORDS, "naïve", "café", "😀", "größe"]


def line(rng: random.Random, words: list[str]) -> str:
    """One line of made-up code."""
    return "\t" * rng.randint(0, 3) + " ".join(rng.choice(words) for _ in range(rng.randint(3, 12)))


def match(rng: random.Random, words: list[str], *, chunks: bool) -> dict[str, Any]:
    """One match object."""
    name = f"github.com/org/repository-{rng.randint(1, 20)}"
    value: dict[str, Any] = {
        "type": "content",
        "path": f"pkg/{rng.choice(WORDS[:5])}/file{rng.randint(0, 9999)}.go",
        "repositoryID": rng.randint(1, 50),
        "repository": name,
        "repoStars": 12,
        "repoLastFetched": "2024-01-01T00:00:00Z",
        "branches": [""],
        "commit": name.encode().hex()[-40:],
        "hunks": None,
        "language": "Go",
    }
    count = rng.choice([1, 1, 2, 3, 5, 8])
    if chunks:
        value["chunkMatches"] = [chunk(rng, words, 10 * i) for i in range(count)]
    else:
        numbers = sorted(rng.sample(range(3000), count))
        value["lineMatches"] = [
            {"line": line(rng, words), "lineNumber": n, "offsetAndLengths": [[rng.randint(0, 9), 3]]} for n in numbers
        ]
    return value


def chunk(rng: random.Random, words: list[str], first: int) -> dict[str, Any]:
    """A chunk of three lines with a match in the middle one."""
    lines = [line(rng, words) for _ in range(3)]
    start = {"offset": 40 * first + len(lines[0].encode()) + 1, "line": first + 1, "column": 0}
    end = start | {"offset": start["offset"] + 1, "column": 1}
    return {
        "content": "\n".join(lines) + "\n",
        "contentStart": {"offset": 40 * first, "line": first, "column": 0},
        "ranges": [{"start": start, "end": end}],
    }


def stream(words: list[str], *, chunks: bool) -> list[bytes]:
    """The data of each event of a stream."""
    rng = random.Random(1)  # noqa: S311 - a repeatable corpus
    payloads = []
    for _ in range(EVENTS):
        matches: list[Any] = []
        size = 0
        while size < EVENT_BYTES:
            matches.append(match(rng, words, chunks=chunks))
            size += len(json.dumps(matches[-1]))
        payloads.append(dump(matches))
    return payloads


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of some work."""
    before = time.process_time()
    work()
    return time.process_time() - before


def to_dicts(payloads: list[bytes]) -> int:
    """How many dicts the data lines become."""
    kept: list[Any] = []
    for payload in payloads:
        kept += json.loads(payload)
    return len(kept)


def to_batches(recorded: bytes) -> int:
    """How many rows the recorded stream becomes."""
    framing, matches = Decoder(), MatchDecoder()
    kept = []
    for i in range(0, len(recorded), PORTION_BYTES):
        kept += matches.decode(*(event.data for event in framing.feed(recorded[i : i + PORTION_BYTES])))
    return sum(batch.batch.num_rows for batch in kept)


def main() -> int:
    """Print the table; the exit status."""
    print(f"{'stream':<22}{'MB':>6}{'rows':>8}{'json ms':>9}{'batches ms':>12}{'rows/s':>10}{'ratio':>7}")
    slow = False
    for name, words, chunks in (
        ("lines", WORDS, False),
        ("lines, not ASCII", ACCENTED, False),
        ("chunks", WORDS, True),
    ):
        payloads = stream(words, chunks=chunks)
        recorded = b"".join(frame("matches", p) for p in payloads)
        rows = to_batches(recorded)
        plain, ours = [], []
        for _ in range(ROUNDS):
            plain.append(seconds(partial(to_dicts, payloads)))
            ours.append(seconds(partial(to_batches, recorded)))
        ratio = statistics.median(a / b for a, b in zip(plain, ours, strict=True))
        slow |= name == "lines" and ratio < WANTED
        print(
            f"{name:<22}{len(recorded) / 1e6:>6.1f}{rows:>8}{min(plain) * 1e3:>9.0f}{min(ours) * 1e3:>12.0f}"
            f"{rows / min(ours):>10,.0f}{ratio:>7.2f}"
        )
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
