"""Answers without a model: how many first sentences are right, how many claim nothing, how many are wrong.

    python benchmarks/answers.py FOLDER [--set tune|report|fresh|person] [--draw N --seed S] [--shown 20]

FOLDER holds clones named as in `truth/answers.jsonl` (click, cobra, express, gin, gson, httpx, redis, requests,
ripgrep, sinatra, tornado, zoekt; of the set `person`, 120 questions in a person's words: anyhow, arrow, commander.js,
echo, javapoet, loguru, memcached, rack, scrapy, tox, websocket, ws), at their newest commits of November 2026. Truths
of counts, lines and first commits come from git in the same run.

With ``--draw``, questions are made from Python files of FOLDER instead: defaults, values, definitions, bases, callees
and differences as the module `ast` reads them, dependencies and configured values as `tomllib` does, authors of
lines, tests and absent names as git does, and definitions in further languages by one expression each. None of these
shares code with what is measured.

A sentence is right if it has all that the truth asks for; it claims nothing if it begins with "Most relevant" or says
that it cannot answer; any other is wrong. With SOURCELIGHT_MODEL set, a model answers the same questions.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import re
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sourcelight as sl

_CLAIMS_NOTHING = ("Most relevant", "No direct answer", "This can't", "This can’t")  # noqa: RUF001 - as models write
_SPENT = ("total_input_tokens", "completion_tokens", "cost_dollars", "model_requests", "tool_calls")
"""What a model used, as `stats` of an answer have it."""
_QUESTIONS = Path(__file__).parent / "truth" / "answers.jsonl"
_TESTS = re.compile(r"(^|/)(tests?|examples?|docs?|demos|maint|scripts)/|(^|/)test_|_test\.py$|conftest\.py$")


def git(repository: Path, *arguments: str) -> str:
    """Run git in a repository."""
    command = ["git", "-C", os.fspath(repository), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout


def patterns_of(question: Mapping[str, Any], repository: Path) -> list[str]:  # noqa: PLR0911 - one for each truth of git
    """Return the expressions that a right sentence has, from the file or from git."""
    if "git" not in question:
        return list(question.get("expects") or question.get("top3") or ())
    kind, *remaining = question["git"]
    if kind == "count-files":
        paths = git(repository, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
        endings = tuple(ending.removeprefix("*") for ending in remaining)
        return [rf"\*\*{sum(path.endswith(endings) for path in paths):,}\*\*"]
    if kind == "count-commits":
        return [rf"\*\*{int(git(repository, 'rev-list', '--count', 'HEAD')):,}\*\*"]
    if kind == "blame":
        text = git(repository, "blame", "-p", "-L", f"{remaining[1]},{remaining[1]}", "HEAD", "--", remaining[0])
        author = re.search(r"^author (.*)", text, re.MULTILINE)
        return [re.escape(author[1] if author else ""), text[:12]]
    if kind == "first":
        result = git(repository, "log", "--no-merges", "--reverse", "--format=%H", f"-S{remaining[0]}", "HEAD")
        return [result[:12]]
    if kind == "count-tags":
        return [rf"\*\*{len(git(repository, 'tag').split()):,}\*\*"]
    if kind == "added":
        log = git(repository, "log", "--diff-filter=A", "--format=%H %aN", "HEAD", "--", remaining[0]).split("\n")[0]
        return [log[:12], re.escape(log[41:])]
    return [re.escape(git(repository, "log", "--reverse", "--format=%an", "HEAD").split("\n")[0])]


def lead_of(markdown: str) -> str:
    """Return the first sentence, with the places of a ranked answer, without escapes of Markdown."""
    text, _, _ = markdown.partition("\n## " if markdown.startswith(_CLAIMS_NOTHING) else "\n\n")
    return re.sub(r"\\([_*<>])", r"\1", text)


def judge(question: Mapping[str, Any], lead: str, patterns: Sequence[str]) -> str:
    """Return ``right``, ``nothing claimed`` or ``wrong``."""
    has_all = all(re.search(pattern, lead) for pattern in patterns)
    claims_nothing = lead.startswith(_CLAIMS_NOTHING)
    if "top3" in question:  # a question for an explanation: places are all that can be right
        return "right" if claims_nothing and has_all else "nothing claimed" if claims_nothing else "wrong"
    if claims_nothing:
        return "nothing claimed"
    return "right" if has_all else "wrong"


def written_questions(name: str) -> list[dict[str, Any]]:
    """Return the questions of one set of the file."""
    questions = [json.loads(line) for line in _QUESTIONS.read_text("utf-8").splitlines() if line]
    return [question for question in questions if question.get("set") == name]


def drawn_questions(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Make questions from Python files, as many of each kind, by `ast` alone."""
    results: dict[str, list[dict[str, Any]]] = {}
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        paths = git(repository, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
        for question in _questions_of_repository(repository, paths, random.Random(f"{seed} {repository.name}")):  # noqa: S311 - a sample
            results.setdefault(question["kind"], []).append(question)
        for path in paths:
            if path.endswith(".py") and not _TESTS.search(path):
                for question in _questions_of(repository, path):
                    results.setdefault(question["kind"], []).append(question)
    selected = random.Random(seed)  # noqa: S311 - a sample
    return [item for kind in sorted(results) for item in selected.sample(results[kind], min(count, len(results[kind])))]


_HEADS = {
    ".go": re.compile(r"^func (?:\([^)]*\) )?([A-Za-z]\w+)\("),
    ".rs": re.compile(r"^(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum|trait) ([A-Za-z]\w+)"),
    ".rb": re.compile(r"^\s*(?:def|class|module) ([A-Za-z]\w+)\s*(?:\(|<|$)"),
    ".java": re.compile(r"^public (?:final |abstract )*(?:class|interface|enum) (\w+)"),
    ".php": re.compile(r"^(?:final |abstract )*(?:class|interface|trait) (\w+)"),
    ".js": re.compile(r"^(?:function|class) ([A-Za-z]\w+)"),
    ".ts": re.compile(r"^export (?:function|class|interface|type) ([A-Za-z]\w+)"),
    ".c": re.compile(r"^[A-Za-z_][\w\s*()]*?\b([A-Za-z_]\w+)\([^;]*$"),
}
_ABSENT = ("QuantumTeapot", "zxqv_handler", "FluxCapacitorPool", "borogrove_limit", "MomeRathIndex")


def _questions_of_repository(repository: Path, paths: Sequence[str], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Make questions of any language: by expressions for heads, by git, and by `tomllib`."""
    name = repository.name

    def ask(kind: str, text: str, truth: Any, path: str = "") -> dict[str, Any]:
        return {"repo": name, "kind": kind, "q": f"{text} in {name}?", "truth": truth, "path": path}

    code = [path for path in paths if Path(path).suffix in _HEADS and not _TESTS.search(path)]
    for path in code:
        head = _HEADS[Path(path).suffix]
        for line in git(repository, "show", f"HEAD:{path}").split("\n"):
            if (match := head.match(line)) is not None:
                yield ask("definition (other)", f"Where is `{match[1]}` defined", path)
    for path in rng.sample(paths, min(12, len(paths))):
        try:
            count = git(repository, "show", f"HEAD:{path}").count("\n") if path else 0
        except subprocess.CalledProcessError:
            continue
        if count and path.isascii() and " " not in path:
            number = rng.randint(1, count)
            try:
                blame = git(repository, "blame", "-p", "-L", f"{number},{number}", "HEAD", "--", path)
            except subprocess.CalledProcessError:  # a clone that lacks contents has no truth
                continue
            author = re.search(r"^author (.*)", blame, re.MULTILINE)
            yield ask(
                "line", f"Who last changed line {number} of {path}", [author[1] if author else "", blame[:12]], path
            )
    for absent in rng.sample(_ABSENT, 2):
        yield ask(
            "absent",
            rng.choice([f"Where is {absent} defined", f"What calls `{absent}`", f"Which tests cover {absent}"]),
            absent,
        )
    ending = rng.choice([Path(path).suffix for path in paths if Path(path).suffix[1:].isalpha()])
    yield ask("count", f"How many {ending} files are there", f"**{sum(path.endswith(ending) for path in paths):,}**")
    yield ask("count", "How many commits are there", f"**{int(git(repository, 'rev-list', '--count', 'HEAD')):,}**")
    yield from _questions_of_pyproject(repository) if "pyproject.toml" in paths else ()


def _questions_of_pyproject(repository: Path) -> Iterator[dict[str, Any]]:
    """Make questions about dependencies and configured values."""

    def ask(kind: str, text: str, truth: Any) -> dict[str, Any]:
        return {"repo": repository.name, "kind": kind, "q": f"{text} in {repository.name}?", "truth": truth, "path": ""}

    data = tomllib.loads(git(repository, "show", "HEAD:pyproject.toml"))
    listing = [re.split(r"[^\w.-]", item)[0] for item in data.get("project", {}).get("dependencies", [])]
    if listing:
        yield ask("dependencies", "What are the dependencies", listing)
    for section, values in data.get("tool", {}).items():
        for key, value in values.items():
            if isinstance(value, int | str) and "\n" not in str(value) and "-" in key:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                yield ask("configured", f"What is tool.{section}.{key} set to", text)


def _questions_of_module(tree: ast.Module, repository: str, path: str) -> Iterator[dict[str, Any]]:
    """Make questions about bases, callees, tests, examples and differences of what a module defines at its top."""

    def ask(kind: str, text: str, truth: Any) -> dict[str, Any]:
        return {"repo": repository, "kind": kind, "q": f"{text} in {repository}?", "truth": truth, "path": path}

    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield ask("bases", f"What are the base classes of {node.name}", [ast.unparse(base) for base in node.bases])
            yield ask("example", f"Show an example of {node.name}", node.name)
    for name, node in functions.items():
        arguments = [*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg]
        if not name.startswith("__"):
            yield ask("parameters", f"What parameters does `{name}` take", [item.arg for item in arguments if item])
        calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
        called = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        local_calls = [
            call for call in calls if isinstance(call, ast.Name) and call.id in functions and call.id != name
        ]
        if local_calls and not name.startswith("__"):
            yield ask(
                "callees", f"What does `{name}` call", [sorted(called), sorted({call.id for call in local_calls})]
            )
        yield ask("tests", f"Which tests cover `{name}`", name)
    names = [name for name in functions if not name.startswith("__")]
    for first, second in itertools.pairwise(names):
        yield ask("difference", f"What is the difference between `{first}` and `{second}`", [first, second, path])


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).rpartition(".")[2] == "overload" for decorator in node.decorator_list)


def _questions_of(repository: Path, path: str) -> Iterator[dict[str, Any]]:
    source = git(repository, "show", f"HEAD:{path}")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    name = repository.name

    def ask(kind: str, text: str, truth: str) -> dict[str, Any]:
        return {"repo": name, "kind": kind, "q": f"{text} in {name}?", "truth": truth, "path": path}

    yield from _questions_of_module(tree, name, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield ask("definition", f"Where is the {node.name} class defined", path)
        # The defaults of an overload are those of its implementation, which follows.
        if (
            not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or node.name.startswith("__")
            or _is_overload(node)
        ):
            continue
        yield ask("definition", f"Where is the {node.name} function defined", path)
        listing = [*node.args.posonlyargs, *node.args.args]
        pairs = [*zip(listing[len(listing) - len(node.args.defaults) :], node.args.defaults, strict=True)]
        pairs += [(arg, value) for arg, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value]
        for argument, value in pairs:
            text = ast.get_source_segment(source, value) or ""
            yield ask("default", f"What is the default of {argument.arg} in {node.name}", text)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id.isupper():
                text = ast.get_source_segment(source, statement.value) or ""
                yield ask("value", f"What is the value of {target.id}", text)


def _calls_are(truth: Sequence[Sequence[str]], lead: str, markdown: str) -> bool:
    """Return whether all that is listed is called there, and all functions of the same module are listed."""
    listing = re.findall(r"`(\w+)`", lead.partition(" calls ")[2].partition(" [")[0])
    return bool(listing) and set(listing) <= set(truth[0]) and all(f"`{name}`" in markdown for name in truth[1])


_JUDGES: Mapping[str, Callable[[Any, str, str, Path], bool]] = {
    "definition": lambda truth, _, markdown, __: truth in markdown,
    "definition (other)": lambda truth, _, markdown, __: truth in markdown,
    "line": lambda truth, _, markdown, __: all(value in markdown for value in truth),
    "dependencies": lambda truth, lead, _, __: all(f"`{value}" in lead for value in truth),
    "parameters": lambda truth, lead, _, __: (
        all(f"{item}`" in lead for item in truth) if truth else "no parameters" in lead
    ),
    "difference": lambda truth, lead, _, __: (
        lead.count(truth[2]) >= len(truth) - 1 and all(f"`{name}` is a" in lead for name in truth[:2])
    ),
    "bases": lambda truth, lead, _, __: (
        all(f"`{base}`" in lead for base in truth) if truth else "no base class" in lead
    ),
    "callees": lambda truth, lead, markdown, _: _calls_are(truth, lead, markdown),
    "absent": lambda truth, lead, _, __: lead.startswith(f"No searched file has `{truth}`"),
    "count": lambda truth, lead, _, __: truth in lead,
    "configured": lambda truth, lead, _, __: truth in lead,
    "tests": lambda truth, lead, _, repository: _cited_lines_have(truth, lead, repository),
    "example": lambda truth, lead, _, repository: _cited_lines_have(truth, lead, repository),
}
"""Judges of the kinds whose truth is no text of a value."""


def _cited_lines_have(name: str, lead: str, repository: Path) -> bool:
    """Return whether each line that a sentence cites has a name; without one, whether no test file has it."""
    citations = re.findall(r"/-/blob/([^?)]+)\?L(\d+)", lead)
    if not citations:
        listing = subprocess.run(
            ["git", "-C", repository, "grep", "-lw", name, "HEAD"], capture_output=True, text=True, check=False
        )
        return not any(re.search(r"(^|/)(tests?|testing)/|(^|/)test_|_test\.", path) for path in listing.stdout.split())
    lines = [git(repository, "show", f"HEAD:{unquote(path)}").split("\n")[int(line) - 1] for path, line in citations]
    return all(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)


def judge_drawn(question: Mapping[str, Any], lead: str, markdown: str, repository: Path) -> str:
    """Judge an answer by what other programs read: a place among those that are listed, or the text of a value."""
    if lead.startswith(_CLAIMS_NOTHING) or (question["kind"] != "absent" and "Most relevant:" in markdown[:400]):
        return "nothing claimed"
    if question["kind"] in _JUDGES:
        is_right = _JUDGES[question["kind"]](question["truth"], " ".join(lead.split()), markdown, repository)
        return "right" if is_right else "wrong"

    def bare(text: str) -> str:
        return re.sub(r"\s+|,(?=[)\]}])", "", re.sub(r"#.*", "", text))

    expected, got = bare(question["truth"]), bare(lead)
    if expected in got or ("…" in lead and expected[:60] in got):
        return "right"
    # A value over many lines is shown, and the sentence gives its place alone.
    return "nothing claimed" if "is defined in" in lead and question["path"] in lead else "wrong"


def main() -> None:
    """Ask, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", default="report", choices=["tune", "report", "fresh", "person"])
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shown", type=int, default=0, help="answers to print whole, drawn at random")
    options = parser.parse_args()
    is_drawn = options.draw > 0
    questions = (
        drawn_questions(options.folder, options.draw, options.seed) if is_drawn else written_questions(options.set)
    )
    names = sorted({question["repo"] for question in questions})
    code = sl.open(*[options.folder / name for name in names])
    totals: Counter[tuple[str, str]] = Counter()
    answers: list[tuple[str, str, str]] = []
    spent: Counter[str] = Counter()
    ask: Callable[[str], Any] = lambda text: code.deepsearch(text, cache=False)  # noqa: E731 - one expression
    for question in questions:
        started = time.perf_counter()
        answer = ask(question["q"])
        seconds = time.perf_counter() - started
        lead = lead_of(answer.text)
        spent.update({name: answer.stats[name] for name in _SPENT if answer.stats.get(name)})
        if is_drawn:
            verdict = judge_drawn(question, lead, answer.text, options.folder / question["repo"])
        else:
            try:
                verdict = judge(question, lead, patterns_of(question, options.folder / question["repo"]))
            except subprocess.CalledProcessError:  # a clone that lacks contents has no truth either
                print(f"no truth: {question['q']}")
                continue
        totals[question["kind"], verdict] += 1
        answers.append((question["q"], verdict, answer.text))
        visible = "" if verdict == "right" else f"\n    {lead[:240]}"
        print(f"{verdict:16} {seconds:5.1f} s  {question['q']}{visible}", flush=True)
    kinds = sorted({kind for kind, _ in totals})
    print(f"\n{'kind':20} {'right':>6} {'nothing claimed':>16} {'wrong':>6}")
    for kind in kinds:
        print(f"{kind:20} {totals[kind, 'right']:6} {totals[kind, 'nothing claimed']:16} {totals[kind, 'wrong']:6}")
    columns = [sum(totals[kind, verdict] for kind in kinds) for verdict in ("right", "nothing claimed", "wrong")]
    print(
        f"{'together':20} {columns[0]:6} {columns[1]:16} {columns[2]:6}   {columns[0] / max(sum(columns), 1):.1%} right"
    )
    if spent["total_input_tokens"]:
        print(", ".join(f"{spent[name]:,} {name}" for name in _SPENT))
    for text, verdict, markdown in random.Random(options.seed).sample(answers, min(options.shown, len(answers))):  # noqa: S311 - a sample
        print(f"\n{'=' * 100}\n{verdict}: {text}\n\n{markdown}")


if __name__ == "__main__":
    main()
