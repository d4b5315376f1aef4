"""Which coding assistants commits name, beside a reading of ``git log`` commit by commit, and what it costs.

Run: ``python benchmarks/agents.py REPOSITORY [--index FOLDER]``, where REPOSITORY is a git directory or a work tree.
git reads the trailers; the rules are those of sourcelight, tried one after the other on every commit. It prints how
many commits name which assistant, each commit that differs, and seconds of CPU, and exits with 1 if any differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import sourcelight as sl
from sourcelight.engines.history.agents import AGENT_RULES

_FORM = "%H%x00%an%x00%ae%x00%(trailers:only,unfold)%x00%B"
_PERSON = re.compile(r"\s*(.*?)\s*<([^<>]*)>")


def agents_of(author: str, email: str, trailers: str, message: str) -> set[str]:
    """The assistants of one commit, by every rule in turn."""
    people, values = [(author, email)], []
    for line in trailers.splitlines():
        token, _, value = line.partition(": ")
        if token.lower() in {"co-authored-by", "assisted-by", "generated-by"}:
            people += [(match[1], match[2]) for match in [_PERSON.match(value)] if match]
            values += [value] if token.lower() != "co-authored-by" else []
    texts = {
        "address": [address.strip() for _, address in people],
        "name": [name.strip() for name, _ in people],
        "assisted-by": values,
        "trailer": trailers.splitlines(),
        "line": [line.strip() for line in message.partition("\n\n")[2].split("\n")],
    }
    return {
        rule.agent
        for rule in AGENT_RULES
        if any(re.fullmatch(rule.pattern, text, re.IGNORECASE) for text in texts[rule.place])
    }


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("repository", type=Path)
    arguments.add_argument("--index", type=Path)
    request = arguments.parse_args()
    index = request.index or tempfile.mkdtemp()
    with sl.open(request.repository, index_dir=index, background_index=False) as code:
        code.contributors(progress=False)  # brings the history in
    # A new client, so that nothing is in memory.
    with sl.open(request.repository, index_dir=index, background_index=False) as code:
        began = time.process_time()
        commits = code.commit_search(progress=False)
        first_s = time.process_time() - began
        began = time.process_time()
        commits = code.commit_search(progress=False)
        again_s = time.process_time() - began
    ours = {
        commit: set(filter(None, agent.split(", ")))
        for commit, agent in zip(commits["commit"].astype(str), commits["agent"].astype(str), strict=True)
    }
    git = ["git", "-C", str(request.repository), "log", "-z", f"--format={_FORM}", "HEAD"]
    fields = subprocess.run(git, capture_output=True, check=True).stdout.decode("utf-8", "replace").split("\0")
    began = time.process_time()
    theirs = {fields[i]: agents_of(*fields[i + 1 : i + 5]) for i in range(0, len(fields) - 4, 5)}
    naive_s = time.process_time() - began
    counts = Counter(agent for agents in theirs.values() for agent in agents)
    print(f"{len(theirs):,} commits, {sum(map(bool, theirs.values())):,} name an assistant: {dict(counts)}")
    print(f"CPU seconds: all commits as a table {first_s:.2f}, again {again_s:.2f}; every rule in turn {naive_s:.2f}")
    different = [commit for commit in {*ours, *theirs} if ours.get(commit) != theirs.get(commit)]
    for commit in sorted(different)[:20]:
        print(f"{commit}: {sorted(ours.get(commit, ()))} and not {sorted(theirs.get(commit, ()))}")
    print(f"{len(different):,} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
