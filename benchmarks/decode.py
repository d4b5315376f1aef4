"""How much faster recorded streams become record batches than their data lines become dicts.

Run: ``python benchmarks/decode.py``. It generates events for each kind of match and times ``json.loads`` of each data
line against splitting the stream and decoding it to batches, read in portions of 1 MiB (a recording from disk) and of
64 KiB (what one read of a socket gives): first each kind alone, then all of them in one recording with the shares of
a day's work. There nearly all bytes are matched lines and chunks, one event in eight of them not ASCII, and the other
kinds are some percent (few of them fill a screen). Both sides keep what they made, the garbage collector is on for
both, rounds are interleaved; times are CPU time, a ratio is the median of the rounds' ratios. It exits with 1 if the
ratio of the recording, in portions of 1 MiB, is below 2.
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

from sourcelight.core.batches.codecs.decode import MatchDecoder
from sourcelight.core.wire import SseDecoder, frame
from sourcelight.core.wire.encode import dump

EVENT_BYTES = 32 * 1024
PORTIONS_BYTES = (1024 * 1024, 64 * 1024)
EVENTS_ALONE = 150
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


def head(rng: random.Random, kind: str) -> dict[str, Any]:
    """What matches of all kinds have."""
    number = rng.randint(1, 20)
    name = f"github.com/org/repository-{number}"
    return {
        "type": kind,
        "repositoryID": number,
        "repository": name,
        "repoStars": 12,
        "repoLastFetched": "2024-01-01T00:00:00Z",
    }


def file(rng: random.Random, kind: str) -> dict[str, Any]:
    """What matches in files have."""
    value = head(rng, kind)
    return value | {
        "path": f"pkg/{rng.choice(WORDS[:5])}/file{rng.randint(0, 9999)}.go",
        "branches": [""],
        "commit": value["repository"].encode().hex()[-40:],
        "hunks": None,
        "language": "Go",
    }


def lines(rng: random.Random, words: list[str]) -> dict[str, Any]:
    """Matched lines of one file."""
    numbers = sorted(rng.sample(range(3000), rng.choice([1, 1, 2, 3, 5, 8])))
    results = [
        {"line": line(rng, words), "lineNumber": n, "offsetAndLengths": [[rng.randint(0, 9), 3]]} for n in numbers
    ]
    return file(rng, "content") | {"lineMatches": results}


def chunks(rng: random.Random, words: list[str]) -> dict[str, Any]:
    """Matched chunks of one file."""
    count = rng.choice([1, 1, 2, 3, 5, 8])
    return file(rng, "content") | {"chunkMatches": [chunk(rng, words, 10 * i) for i in range(count)]}


def path(rng: random.Random, words: list[str]) -> dict[str, Any]:
    """A matched path."""
    ends = ({"offset": n, "line": 0, "column": n} for n in (4, 4 + rng.randint(1, len(words[0]))))
    return file(rng, "path") | {"pathMatches": [dict(zip(("start", "end"), ends, strict=True))]}


def symbols(rng: random.Random, words: list[str]) -> dict[str, Any]:
    """Definitions in one file."""
    results = [
        {"url": f"/x?L{n}:1-{n}:9", "name": rng.choice(words), "containerName": "", "kind": "FUNCTION", "line": n}
        for n in range(1, rng.choice([2, 3, 5]))
    ]
    return file(rng, "symbol") | {"symbols": results}


def repository(rng: random.Random, words: list[str]) -> dict[str, Any]:
    """A matched repository."""
    info: dict[str, Any] = {"description": line(rng, words), "metadata": {}, "topics": ["go"], "branches": None}
    value = head(rng, "repo") | info
    return value | {"repository": f"{value['repository']}-{rng.randint(0, 9999)}"}


def commit(rng: random.Random, words: list[str], *, diff: bool = False) -> dict[str, Any]:
    """A matched commit message, or a diff."""
    message = "\n\n".join(line(rng, words) for _ in range(2))
    hunk = "\n".join(sign + line(rng, words) for sign in " -+ ")
    content = (
        f"```diff\na.go a.go\n@@ -10,3 +10,3 @@ func x()\n{hunk}\n```" if diff else f"```COMMIT_EDITMSG\n{message}\n```"
    )
    who = {"authorName": "A", "authorDate": "2024-01-01T00:00:00Z", "committerName": "C"}
    when = {"committerDate": "2024-01-01T00:00:00Z", "oid": f"{rng.randrange(2**160):040x}"}
    text = {"label": "label", "url": "/url", "detail": "detail", "message": message, "content": content}
    return head(rng, "diff" if diff else "commit") | who | when | text | {"ranges": [[4 if diff else 1, 1, 3]]}


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


Make = Callable[[random.Random, list[str]], dict[str, Any]]

STREAMS: tuple[tuple[str, Make, list[str], int], ...] = (
    ("lines", lines, WORDS, 140),
    ("lines, not ASCII", lines, ACCENTED, 20),
    ("chunks", chunks, WORDS, 120),
    ("chunks, not ASCII", chunks, ACCENTED, 16),
    ("paths", path, WORDS, 4),
    ("symbols", symbols, WORDS, 4),
    ("repositories", repository, WORDS, 2),
    ("commits", commit, WORDS, 4),
    ("diffs", partial(commit, diff=True), WORDS, 4),
)
"""Name, how to make a match, of which words, and how many events of the recording."""


def stream(make: Make, words: list[str], events: int) -> list[bytes]:
    """The data of each event of a stream."""
    rng = random.Random(1)  # noqa: S311 - a repeatable corpus
    payloads = []
    for _ in range(events):
        matches: list[Any] = []
        size = 0
        while size < EVENT_BYTES:
            matches.append(make(rng, words))
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
    retained: list[Any] = []
    for payload in payloads:
        retained += json.loads(payload)
    return len(retained)


def to_batches(recorded: bytes, portion_bytes: int) -> int:
    """How many rows the recorded stream becomes."""
    framing, matches = SseDecoder(), MatchDecoder()
    retained = []
    for i in range(0, len(recorded), portion_bytes):
        retained += matches.decode(*(event.data for event in framing.feed(recorded[i : i + portion_bytes])))
    return sum(batch.batch.num_rows for batch in retained)


def compare(name: str, payloads: list[bytes], portion_bytes: int) -> float:
    """Print a line of the table; the ratio in it."""
    recorded = b"".join(frame("matches", p) for p in payloads)
    rows = to_batches(recorded, portion_bytes)
    dicts, ours = [], []
    for _ in range(ROUNDS):
        dicts.append(seconds(partial(to_dicts, payloads)))
        ours.append(seconds(partial(to_batches, recorded, portion_bytes)))
    ratio = statistics.median(a / b for a, b in zip(dicts, ours, strict=True))
    print(
        f"{name:<22}{len(recorded) / 1e6:>6.1f}{rows:>8}{min(dicts) * 1e3:>9.0f}{min(ours) * 1e3:>12.0f}"
        f"{rows / min(ours):>10,.0f}{ratio:>7.2f}"
    )
    return ratio


def table(portion_bytes: int) -> float:
    """Print the table for portions of one size; the ratio of the recording."""
    print(f"\nin portions of {portion_bytes // 1024} KiB")
    print(f"{'stream':<22}{'MB':>6}{'rows':>8}{'json ms':>9}{'batches ms':>12}{'rows/s':>10}{'ratio':>7}")
    recording: list[bytes] = []
    for name, make, words, events in STREAMS:
        payloads = stream(make, words, EVENTS_ALONE)
        compare(name, payloads, portion_bytes)
        recording += payloads[:events]
    return compare("recorded stream", recording, portion_bytes)


def main() -> int:
    """Print the tables; the exit status."""
    ratios = [table(portion_bytes) for portion_bytes in PORTIONS_BYTES]
    return int(ratios[0] < WANTED)


if __name__ == "__main__":
    sys.exit(main())
