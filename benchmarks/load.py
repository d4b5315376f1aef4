"""Searches of many users at a service on this machine: times of whole answers, by locust.

Run: ``python benchmarks/load.py --corpus FOLDER [--users N] [--rate N] [--seconds N]``, with ``pip install '.[load]'``.

FOLDER holds git repositories. `sourcelight serve` runs on a free port of loopback, with an account for each user. Users
start one after the other and search at a steady rate, all of them together `--rate` times a second, whatever the
service takes: a slow service gets no less work. A search is read to its last byte. It fails when it doesn't end with
``done``, has an alert of kind error, or another status than 200. The exit status is 1 when a search failed, or when
users searched less often than asked, since the times are then those of the machine that asks.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

# First: it replaces sockets by those of its own loop.
import gevent
import locust
from corpus import machine, markdown
from locust.contrib.fasthttp import FastHttpUser
from locust.env import Environment

from sourcelight.repos.state import State

QUERIES = {
    "a word": ("return", "error", "TODO", "config", "default", "import"),
    "a phrase": ('"not found"', '"raise ValueError"', '"return self"', '"in place of"'),
    "a regular expression": (r"/\bdef \w+_all\(/", r"/[A-Z]\w+Error\b/", r"/v\d+\.\d+/"),
    "filters": ("lang:python render", "file:test assert", "repo:. -file:test license"),
    "definitions": ("type:symbol ^get", "type:symbol parse"),
    "commits": ("type:commit fix", "type:diff deprecated"),
    "words of a question": ("patternType:keyword color table width", "patternType:keyword read file lines"),
}
"""Queries by kind; a user draws a kind, then one of its queries."""
_SHARES = (6, 2, 2, 3, 2, 1, 2)
HEAD = ("kind of search", "searches", "p50 ms", "p95 ms", "p99 ms", "longest ms")


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--rate", type=float, default=5.0, help="searches a second of all users together")
    parser.add_argument("--seconds", type=int, default=120, help="after all users have started; at most 900")
    arguments = parser.parse_args()
    if not (0 < arguments.users <= 1000 and 0 < arguments.rate <= 100 and 0 < arguments.seconds <= 900):
        parser.error("at most 1000 users, 100 searches a second and 900 seconds")
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        tokens = make_accounts(Path(home), arguments.users)
        with service(arguments.corpus, Path(home)) as (address, process):
            before_s = cpu_s(process.pid)
            statistics = measure(address, tokens, arguments)
            used_s = cpu_s(process.pid) - before_s
    print(machine() + f", at the start {load_before:.1f}")
    total = statistics.total
    rate = total.num_requests / max(total.last_request_timestamp - total.start_time, 1e-9)
    each_ms = used_s / max(total.num_requests, 1) * 1e3
    print(f"{arguments.users} users, {rate:.2f} searches a second, {each_ms:.0f} ms of CPU of the service for each")
    rows = [_row(name, statistics.get(name, "GET")) for name in QUERIES]
    print(markdown(HEAD, [*rows, _row("all", total)]))
    for error in statistics.errors.values():
        print(f"failed {error.occurrences} times: {error.name}: {error.error}", file=sys.stderr)
    is_late = rate < 0.8 * arguments.rate
    if is_late:
        print(f"only {rate:.2f} searches a second of {arguments.rate:g} were made", file=sys.stderr)
    return 1 if total.num_failures or is_late or not total.num_requests else 0


def make_accounts(home: Path, count: int) -> list[str]:
    """Make an account for each user, as `sourcelight admin` does; return their tokens."""
    with State(str(home / "state.sqlite"), actor="benchmark") as state:
        names = [f"user-{number}" for number in range(count)]
        for name in names:
            state.accounts.create(name)
        return [state.tokens.create(name)[1] for name in names]


@contextmanager
def service(corpus: str, home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the service until all is indexed, then for the block."""
    (home / "site.json").write_text(json.dumps({"defaultVisibility": "public"}))
    command = "import sys; from sourcelight.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve", corpus, "--port", "0", "--config", str(home / "site.json")],
        env={**os.environ, "SOURCELIGHT_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            match = re.search(r"http://\S+", process.stdout.readline())
            if match is None:
                raise SystemExit(f"the service did not start; try sourcelight serve {corpus}")
            address = match[0]
            end_s = time.monotonic() + 1800
            while not _is_ready(address):
                if time.monotonic() > end_s or process.poll() is not None:
                    raise SystemExit("the service was not ready within half an hour")
                time.sleep(1)
            yield address, process
        finally:
            process.terminate()


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=10) as answer:  # noqa: S310 - our own service
            return bool(answer.status == 200)
    except OSError:
        return False


def measure(address: str, tokens: list[str], arguments: argparse.Namespace) -> Any:
    """Let users search for some time; return the statistics of locust."""
    remaining = list(tokens)
    kinds = list(QUERIES)

    def start(user: Any) -> None:
        user.token = remaining.pop()

    def search(user: Any) -> None:
        kind = random.choices(kinds, _SHARES)[0]  # noqa: S311 - no secret
        parameters = urlencode({"q": f"context:global {random.choice(QUERIES[kind])}", "display": "500"})  # noqa: S311
        with user.client.get(
            f"/.api/search/stream?{parameters}",
            headers={"Authorization": f"token {user.token}"},
            name=kind,
            catch_response=True,
        ) as answer:
            error = fault_of(answer.status_code, answer.text or "")
            if error:
                answer.failure(error)

    searcher = type(
        "Searcher",
        (FastHttpUser,),
        {
            "host": address,
            "tasks": [search],
            "on_start": start,
            "wait_time": locust.constant_throughput(arguments.rate / arguments.users),
            "connection_timeout": 30.0,
            "network_timeout": 60.0,
        },
    )
    environment = Environment(user_classes=[searcher])
    runner = environment.create_local_runner()
    # A user searches as soon as it starts: at this rate users start as evenly as they search from then on.
    runner.start(arguments.users, spawn_rate=arguments.rate)
    gevent.sleep(arguments.users / arguments.rate)
    environment.stats.reset_all()
    gevent.sleep(arguments.seconds)
    runner.quit()
    return environment.stats


def fault_of(status: int, text: str) -> str:
    """Return what is wrong with a response; empty for a whole answer."""
    if status != 200:
        return f"status {status}"
    if '"kind":"error"' in text:
        return "an alert of kind error"
    return "" if "event: done" in text else "it ended before done"


def cpu_s(process_id: int) -> float:
    """Return the CPU seconds of a process and its children that ended."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _row(name: str, entry: Any) -> list[str]:
    times = [entry.get_response_time_percentile(share) or 0 for share in (0.5, 0.95, 0.99)]
    return [name, f"{entry.num_requests:,}", *(f"{value:,.0f}" for value in [*times, entry.max_response_time])]


if __name__ == "__main__":
    sys.exit(main())
