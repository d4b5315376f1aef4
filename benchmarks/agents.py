"""Which coding assistants commits name, beside a reading of ``git log`` commit by commit and beside two other tools.

Run: ``python benchmarks/agents.py REPOSITORY… [--chaoss COMMAND] [--repowise FILE]``, where each REPOSITORY is a git
directory or a work tree. git reads the trailers; the rules are those of sourcelight, tried one after the other on every
commit. It prints how many commits name which assistant, each commit that differs, and seconds of CPU, and exits with 1
if any differs.

``--chaoss`` is the command of the CHAOSS AI Detection Tool (``go build`` in github.com/chaoss/ai-detection-action),
asked for medium confidence, since low is any mention. ``--repowise`` is repowise's ``agent_provenance.py`` of
``packages/core/src/repowise/core/ingestion/git_indexer``, which needs only structlog. For both it prints how many
commits they and sourcelight name, and with ``--list`` the commits that only one of them names.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import sourcelight as sl
from sourcelight.core.batches.agents import AGENT_RULES

_FORM = "%H%x00%an%x00%ae%x00%cn%x00%ce%x00%(trailers:only,unfold)%x00%B"
_FIELDS = 7
_PERSON = re.compile(r"\s*(.*?)\s*<([^<>]*)>")
_TOKEN = re.compile(r"([A-Za-z0-9-]+)[ \t]*:[ \t]*(.*)")
_ASSISTED = {"assisted-by", "generated-by"}


def agents_of(author: str, email: str, trailers: str, message: str) -> set[str]:
    """The assistants of one commit, by every rule in turn."""
    lines = [line.strip() for line in message.partition("\n\n")[2].split("\n")]
    people, values, remaining = [(author, email)], [], []
    for line in [*trailers.splitlines(), *lines]:
        match = _TOKEN.fullmatch(line)
        if match is None:
            continue
        key, value = match[1].lower(), match[2]
        if key in {"co-authored-by", *_ASSISTED}:
            people += [(person[1], person[2]) for person in [_PERSON.match(value)] if person]
            values += [value] if key in _ASSISTED else []
        else:
            remaining.append(f"{match[1]}: {value}")
    texts = {
        "address": [address.strip() for _, address in people],
        "name": [name.strip() for name, _ in people],
        "assisted-by": values,
        "trailer": remaining,
        "line": lines,
    }
    return {
        rule.agent
        for rule in AGENT_RULES
        if any(re.fullmatch(rule.pattern, text, re.IGNORECASE) for text in texts[rule.field])
    }


def named_by_chaoss(command: str, repository: Path) -> tuple[set[str], float]:
    """The commits that the CHAOSS tool names, and its seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    scan = [command, "scan", "--format=json", "--min-confidence=medium", str(repository)]
    done = subprocess.run(scan, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} failed: {done.stderr.decode(errors='replace')[:500]}")
    commits = json.loads(done.stdout)["commits"] or []
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {commit["hash"] for commit in commits if commit.get("findings")}, seconds


def named_by_repowise(file: Path, records: list[list[str]]) -> tuple[set[str], float]:
    """The commits that repowise's rules name, and their seconds of CPU without reading the commits."""
    spec = importlib.util.spec_from_file_location("agent_provenance", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"can't import {file}")
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["agent_provenance"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    began = time.process_time()
    classifier = module.AgentProvenanceClassifier()
    commits = {
        commit
        for commit, author, email, committer, address, _, message in records
        if classifier.classify(author, email, committer, address, message).agent
    }
    return commits, time.process_time() - began


def print_overlap(name: str, ours: Collection[str], theirs: Collection[str], seconds: float, *, every: bool) -> None:
    """Print how many commits both name, and how many only one."""
    only_ours, only_theirs = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
    print(
        f"{name}: {len(theirs):,} commits, {len(set(ours) & set(theirs)):,} of them here; "
        f"{len(only_theirs):,} only there, {len(only_ours):,} only here; {seconds:.2f} CPU s"
    )
    for label, commits in (("only there", only_theirs), ("only here", only_ours)):
        for commit in commits if every else ():
            print(f"  {label}: {commit}")


def compare(repository: Path, request: argparse.Namespace) -> int:
    """Print one repository; return how many commits differ from the plain reading."""
    with tempfile.TemporaryDirectory() as index:
        began = time.process_time()
        with sl.open(repository, index_dir=index, background_index=False) as code:
            code.commit_search(progress=False)
            first_s = time.process_time() - began
            began = time.process_time()
            commits = code.commit_search(progress=False)
            again_s = time.process_time() - began
    ours = {
        commit: set(filter(None, agent.split(", ")))
        for commit, agent in zip(commits["commit"].astype(str), commits["agent"].astype(str), strict=True)
    }
    git = ["git", "-C", str(repository), "log", "-z", f"--format={_FORM}", "HEAD"]
    fields = subprocess.run(git, capture_output=True, check=True).stdout.decode("utf-8", "replace").split("\0")
    records = [fields[i : i + _FIELDS] for i in range(0, len(fields) - _FIELDS + 1, _FIELDS)]
    began = time.process_time()
    theirs = {record[0]: agents_of(record[1], record[2], record[5], record[6]) for record in records}
    naive_s = time.process_time() - began
    counts = Counter(agent for agents in theirs.values() for agent in agents)
    by_name = {commit for commit, agents in ours.items() if agents}
    print(f"\n{repository}: {len(theirs):,} commits, {len(by_name):,} name an assistant: {dict(counts.most_common())}")
    print(f"CPU seconds: all commits as a table {first_s:.2f}, again {again_s:.2f}; every rule in turn {naive_s:.2f}")
    if request.chaoss:
        print_overlap("CHAOSS", by_name, *named_by_chaoss(request.chaoss, repository), every=request.list)
    if request.repowise:
        print_overlap("repowise", by_name, *named_by_repowise(request.repowise, records), every=request.list)
    different = [commit for commit in {*ours, *theirs} if ours.get(commit) != theirs.get(commit)]
    for commit in sorted(different)[:20]:
        print(f"{commit}: {sorted(ours.get(commit, ()))} and not {sorted(theirs.get(commit, ()))}")
    print(f"{len(different):,} differ from the plain reading")
    return len(different)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("repositories", type=Path, nargs="+", metavar="REPOSITORY")
    arguments.add_argument("--chaoss", metavar="COMMAND", default="")
    arguments.add_argument("--repowise", type=Path, metavar="FILE")
    arguments.add_argument("--list", action="store_true", help="list the commits that only one tool names")
    request = arguments.parse_args()
    return 1 if sum(compare(repository, request) for repository in request.repositories) else 0


if __name__ == "__main__":
    sys.exit(main())
