"""What an agent spends on questions about code: with ripgrep and git, with thirteen MCP tools, and with all of them.

Run: ``python benchmarks/agent.py --corpus FOLDER [--tasks FILE] [--details]``.

FOLDER holds a directory with git objects for each repository of the tasks, bare or not, named after it. Each is cloned
at the commit that the tasks name. The policies are scripts: what they do follows from the kind of a question and from
its terms, so a task can't be favored. `shell` has ripgrep, git and reads of 200 lines, each bounded to 200 lines of
output; `default` has the thirteen tools and `all` all of them, over standard input and output as a client starts them.

The table has tokens (estimated; of calls and answers, and apart from them of the list of tools with the instructions
of the server, which a model pays for once a session), calls, and the share of gold lines that the first 8,000, 16,000
and 32,000 tokens show. A gold line is shown if its text is in the transcript after its path; lines with less than 8
characters don't count. A gold commit is shown by 7 digits, a gold count by a line with its path and number.

With ``SOURCELIGHT_MODEL`` a language model takes the place of the scripts, with the same tools; see `agent_model.py`.
Its last words count as what it has shown. `agent_draw.py` draws other questions by a seed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from agent_model import SHELL_TOOL, ChatModel
from corpus import markdown
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from sourcelight.core.markup.counts import estimate_tokens

BUDGETS = (8_000, 16_000, 32_000)
READ_LINES = 200
SEARCH_TOKENS = 4_000
DESCRIPTION_TOKENS = 1_500
DESCRIPTION_PLACES = 8
MIN_GOLD_CHARACTERS = 8
Ask = Callable[[str, dict[str, Any]], Awaitable[str]]


@dataclass(frozen=True)
class Task:
    """A question, what an agent would type from it, and where its answer is.

    Parameters
    ----------
    repository
        Name of the repository.
    kind
        ``locate``, ``trace``, ``count``, ``who`` or ``compare``.
    question
        The question.
    terms
        Words of the question; for all kinds but ``locate`` one name or text.
    gold
        Lines (`path`, `first`, `last`, perhaps `revision`), counts (`path`, `count`) or commits (`commit`).
    group
        Which set of tasks it belongs to.
    base, head
        The revisions of a comparison.
    """

    repository: str
    kind: str
    question: str
    terms: tuple[str, ...]
    gold: tuple[Mapping[str, Any], ...]
    group: str
    base: str = ""
    head: str = ""


@dataclass
class Transcript:
    """What went to and fro: calls and answers, in order."""

    texts: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.texts)

    def tokens(self) -> int:
        """Tokens of all calls and answers."""
        return sum(map(estimate_tokens, self.texts))

    def start(self, budget: int) -> str:
        """What the first tokens show, in whole lines."""
        lines = []
        for line in "\n".join(self.texts).splitlines():
            budget -= estimate_tokens(line + "\n")
            if budget < 0:
                break
            lines.append(line)
        return "\n".join(lines)


# --- policies -----------------------------------------------------------------------------------------------------


def is_test(path: str) -> bool:
    """Whether a path looks like a test, documentation or an example, which are read last."""
    return re.search(r"(^|/)(tests?|docs?|examples?)(/|$)|\.(md|rst|txt)$|(^|/)CHANGE", path) is not None


def ranked(lines: Sequence[tuple[str, int, str]], terms: Sequence[str]) -> list[tuple[str, int]]:
    """The place of each file with most terms; files that aren't tests first, then those with most terms."""
    best: dict[str, tuple[int, int]] = {}
    for path, line, text in lines:
        score = sum(term.lower() in f"{path} {text}".lower() for term in terms)
        if path not in best or score > best[path][0]:
            best[path] = (score, line)
    order = sorted(best, key=lambda path: (is_test(path), -best[path][0]))
    return [(path, best[path][1]) for path in order]


def ripgrep_places(answer: str) -> list[tuple[str, int, str]]:
    """Path, line and text of each match."""
    result = (re.match(r"([^:\n]+):(\d+):(.*)", line) for line in answer.splitlines())
    return [(match[1], int(match[2]), match[3]) for match in result if match]


def tool_places(answer: str) -> list[tuple[str, int, str]]:
    """Path, line and text of each line that an answer of the tools shows."""
    lines, path = [], ""
    for line in answer.splitlines():
        if head := re.match("# .+? \N{EN DASH} (.+)", line):
            path = head[1]
        elif (match := re.match(r"(\d+): (.*)", line)) and path:
            lines.append((path, int(match[1]), match[2]))
    return lines


async def shell_policy(task: Task, ask: Ask) -> None:
    """Ripgrep, git, and reads of 200 lines."""

    async def run(command: str) -> str:
        return await ask("shell", {"command": f"{command} | head -n {READ_LINES}"})

    async def read(path: str, line: int) -> None:
        first = max(1, line - READ_LINES // 4)
        await run(f"cat -n {shlex.quote(path)} | sed -n {first},{first + READ_LINES - 1}p")

    term = shlex.quote(task.terms[0])
    match task.kind:
        case "locate":
            words = "|".join(map(re.escape, task.terms))
            answer = await run(f"rg -n -i --max-columns 300 {shlex.quote(f'(def|class) +.*({words})')}")
            locations = ranked(ripgrep_places(answer), task.terms)
            if not locations:
                answer = await run(f"rg -n -i --max-columns 300 -m 5 {shlex.quote(words)}")
                locations = ranked(ripgrep_places(answer), task.terms)
            for path, line in locations[:2]:
                await read(path, line)
        case "trace":
            call = rf"\b{re.escape(task.terms[0])}\("
            answer = await run(f"rg -n --max-columns 300 {shlex.quote(call)}")
            for path, line in ranked(ripgrep_places(answer), [f"def {task.terms[0]}"])[:2]:
                await read(path, line)
        case "count":
            await run(f"rg -i --count-matches -F -e {term}")
        case "who":
            answer = await run(f"git log -S {term} --format='%h %ad %an: %s' --date=short")
            commits = re.findall(r"^[0-9a-f]{7,}", answer, re.MULTILINE)
            if commits:
                await run(f"git show {commits[-1]}")
        case "compare":
            await run(f"git diff --stat {task.base} {task.head}")
            await run(f"git diff {task.base} {task.head} -G {term}")


async def definition(task: Task, ask: Ask) -> str | None:
    """Path of the file that defines the name that a question is about."""
    query = rf"repo:^{task.repository}$ /(def|class) +{re.escape(task.terms[0])}\b/"
    answer = await ask("keyword_search", {"query": query, "maxTokens": 1_000})
    locations = ranked(tool_places(answer), [f"def {task.terms[0]}", f"class {task.terms[0]}"])
    return locations[0][0] if locations else None


async def locate(task: Task, ask: Ask) -> None:
    """Search by description for few places: they come whole and the best first, so that none needs to be read again."""
    query = f"repo:^{task.repository}$ {' '.join(task.terms)}"
    await ask("nls_search", {"query": query, "limit": DESCRIPTION_PLACES, "maxTokens": DESCRIPTION_TOKENS})


async def compare(task: Task, ask: Ask) -> None:
    """The changed lines with a text between two revisions, then which files changed and how much."""
    await ask("diff_search", {"repos": [task.repository], "pattern": task.terms[0],
                              "revisions": [task.head, f"^{task.base}"], "maxTokens": SEARCH_TOKENS})  # fmt: skip
    await ask("compare_revisions", {"repo": task.repository, "base": task.base, "head": task.head, "stat": True})


async def default_policy(task: Task, ask: Ask) -> None:
    """The thirteen tools."""
    repository, term = task.repository, task.terms[0]
    match task.kind:
        case "locate":
            await locate(task, ask)
        case "trace":
            if path := await definition(task, ask):
                await ask("find_references", {"repo": repository, "path": path, "symbol": term})
        case "count":
            await ask("keyword_search", {"query": f'repo:^{repository}$ "{term}"', "maxTokens": SEARCH_TOKENS})
        case "who":
            await ask("commit_search", {"repos": [repository], "contentTerms": [term], "count": 100})
        case "compare":
            await compare(task, ask)


async def all_policy(task: Task, ask: Ask) -> None:
    """All tools."""
    repository, term = task.repository, task.terms[0]
    match task.kind:
        case "trace":
            if path := await definition(task, ask):
                await ask("callers", {"repo": repository, "path": path, "symbol": term})
        case "count":
            await ask("count", {"query": f'repo:^{repository}$ "{term}"', "by": ["path"]})
        case "who":
            await ask("history_of", {"repo": repository, "text": term})
        case _:
            await default_policy(task, ask)


POLICIES = {"shell": shell_policy, "default": default_policy, "all": all_policy}

# --- gold ---------------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    """Output of git on a repository, whoever owns it."""
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def gold_units(task: Task, folder: Path) -> list[tuple[str, str]]:
    """What a transcript has to show: path (empty for a commit) and text (a pattern for a count)."""
    units: list[tuple[str, str]] = []
    for gold in task.gold:
        if "commit" in gold:
            units.append(("", gold["commit"][:7]))
        elif "count" in gold:
            units.append((gold["path"], rf"(?<!\d){gold['count']}(?!\d)"))
        else:
            lines = git(folder, "show", f"{gold.get('revision', 'HEAD')}:{gold['path']}").splitlines()
            displayed = (" ".join(line.split()) for line in lines[gold["first"] - 1 : gold["last"]])
            units += [(gold["path"], text) for text in displayed if len(text) >= MIN_GOLD_CHARACTERS]
    return units


def covered(task: Task, units: Sequence[tuple[str, str]], transcript: str) -> float:
    """Share of the gold that a transcript shows."""
    transcript = re.sub("[ \t]+", " ", transcript)  # tables have a line of code without its alignment
    count = 0
    for path, text in units:
        if not path:
            count += text in transcript
        elif task.kind == "count":
            rows = (line.replace(path, "", 1) for line in transcript.splitlines() if path in line)
            count += any(re.search(text, row) for row in rows)
        else:
            _, name, remaining = transcript.partition(path)
            count += bool(name) and text in remaining
    return count / len(units)


# --- runs ---------------------------------------------------------------------------------------------------------


async def shell_ask(folder: Path, arguments: Mapping[str, Any]) -> str:
    """Output of a command in a repository; the commands are those of the policy."""
    done = await anyio.run_process(["sh", "-c", arguments["command"]], cwd=folder, check=False)
    return done.stdout.decode("utf-8", "replace")


async def play(
    tasks: Sequence[Task], policy: str, corpus: Path, model: ChatModel | None = None
) -> tuple[list[Transcript], int]:
    """Run a policy on all tasks, or a model with its tools; give transcripts, and the tokens of the list of tools."""
    transcripts = [Transcript() for _ in tasks]
    instructions = ""

    async def work(task: Task, transcript: Transcript, ask: Ask, tools: Sequence[Mapping[str, Any]]) -> None:
        if model is None:
            await POLICIES[policy](task, ask)
        else:
            question = f"Repository {task.repository}: {task.question}"
            transcript.texts.append(await model.work(question, tools, ask, instructions))

    if policy == "shell":
        for task, transcript in zip(tasks, transcripts, strict=True):

            async def ask_shell(
                _: str, arguments: dict[str, Any], task: Task = task, to: Transcript = transcript
            ) -> str:
                answer = await shell_ask(corpus / task.repository, arguments)
                to.texts.append(f"{arguments['command']}\n{answer}")
                return answer

            await work(task, transcript, ask_shell, [SHELL_TOOL])
        return transcripts, 0
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", "--tools", policy, str(corpus)]
    started = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(stdio_client(started), mode="legacy") as client:
        tools = (await client.list_tools()).tools
        entries = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]
        instructions = client.instructions or ""
        listing = f"{instructions}\n{json.dumps(entries)}"
        for task, transcript in zip(tasks, transcripts, strict=True):

            async def ask_tool(name: str, arguments: dict[str, Any], to: Transcript = transcript) -> str:
                answer = await client.call_tool(name, arguments)
                text = "".join(getattr(block, "text", "") for block in answer.content)
                to.texts.append(f"{name} {json.dumps(arguments)}\n{text}")
                return text

            await work(task, transcript, ask_tool, entries)
    return transcripts, estimate_tokens(listing)


def clone(source: Path, target: Path, tasks_at: Mapping[str, str]) -> None:
    """Work trees of the repositories, each at its commit."""
    for name, commit in tasks_at.items():
        result = next(path for path in (source / name, source / f"{name}.git") if path.exists())
        command = ["git", "-c", "safe.directory=*", "clone", "-q", "--no-checkout", str(result.resolve()), name]
        subprocess.run(command, check=True, cwd=target)
        git(target / name, "checkout", "-q", "--detach", commit)


def rows(
    tasks: Sequence[Task], results: Mapping[str, tuple[list[Transcript], int]], folder: Path
) -> Iterator[tuple[str, ...]]:
    """A row for each policy and group of tasks, and for each kind."""
    groups = {"all tasks": list(range(len(tasks)))}
    for number, task in enumerate(tasks):
        groups.setdefault(task.group, []).append(number)
    for number, task in sorted(enumerate(tasks), key=lambda pair: pair[1].kind):
        groups.setdefault(task.kind, []).append(number)
    units = [gold_units(task, folder / task.repository) for task in tasks]
    for group, numbers in groups.items():
        for policy, (transcripts, listing) in results.items():
            selected = [transcripts[number] for number in numbers]
            shares = []
            for budget in BUDGETS:
                starts = [
                    covered(tasks[number], units[number], transcripts[number].start(budget)) for number in numbers
                ]
                shares.append(f"{statistics.mean(starts):.0%}")
            tokens = [item.tokens() for item in selected]
            yield (group, str(len(numbers)), policy, f"{listing:,}", f"{statistics.median(tokens):,.0f}",
                   f"{sum(tokens):,}", f"{statistics.median(item.calls for item in selected):g}", *shares)  # fmt: skip


def read_tasks(path: Path) -> tuple[dict[str, str], list[Task]]:
    """The commit of each repository, and the tasks."""
    value = json.loads(path.read_text("utf-8"))
    tasks = [Task(**{**item, "terms": tuple(item["terms"]), "gold": tuple(item["gold"])}) for item in value["tasks"]]
    return value["at"], tasks


def main() -> None:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--corpus", type=Path, required=True)
    arguments.add_argument("--tasks", type=Path, default=Path(__file__).parent / "truth" / "agent.json")
    arguments.add_argument("--details", action="store_true", help="print a line for each task and policy")
    request = arguments.parse_args()
    position, tasks = read_tasks(request.tasks)
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        os.environ["SOURCELIGHT_HOME"] = str(Path(scratch) / "home")
        clone(request.corpus, corpus, position)
        model = ChatModel.from_environment()
        results = {policy: anyio.run(play, tasks, policy, corpus, model) for policy in POLICIES}
        print(Counter(task.kind for task in tasks))
        head = ("tasks", "number", "policy", "tools/list", "median tokens", "sum of tokens", "median calls",
                "8k", "16k", "32k")  # fmt: skip
        print(markdown(head, list(rows(tasks, results, corpus))))
        if request.details:
            for number, task in enumerate(tasks):
                units = gold_units(task, corpus / task.repository)
                for policy, (transcripts, _) in results.items():
                    transcript = transcripts[number]
                    share = covered(task, units, transcript.start(BUDGETS[1]))
                    print(
                        f"{number:2} {task.kind:8} {policy:8} {transcript.tokens():6} {transcript.calls} {share:.0%}",
                        task.question,
                    )


if __name__ == "__main__":
    main()
