"""Actions and reusable workflows that the workflows of continuous integration use, and their versions.

All workflows are read. A question may choose some by the names of their files, or by the names that workflows give
themselves. Lines with ``uses:`` are matched by their form. A version that is a commit is stated with the comment beside
it, which has the version that people know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.builds.manifest_files import asks_yes_or_no
from sourcelight.engines.deepsearch.lookups.builds.settings import find_key
from sourcelight.engines.deepsearch.lookups.builds.workflows import MAX_FILES, MAX_LINES, WORKFLOWS
from sourcelight.engines.deepsearch.lookups.manifests import MAX_LINE, normalize
from sourcelight.engines.search import Target

_USES = (
    r"\s*(?:-\s+)?uses\s*:\s*[\"']?(?P<name>{name})@(?P<version>[\w./-]{{1,80}})[\"']?"
    r"\s*(?:#\s*(?P<comment>[^#]{{0,60}}).*)?$"
)
ACTION = re.compile(r"[\w.-]{1,100}/[\w./-]{1,200}")
"""The name of an action: an owner, a repository, and perhaps a directory."""
_BARE_ACTION = re.compile(r"[\w.-]{1,100}-action|action-[\w.-]{1,100}", re.IGNORECASE)
"""The name of an action without its owner, where it says what it is."""
_BARE_NAME = re.compile(r"[\w.-]{3,100}")
_WITHIN = r"(?:/[\w./-]{1,200})?"
"""A directory of an action, or the file of a reusable workflow."""
_VERSION_IN_COMMENT = re.compile(r"(?:[\w./-]{1,40}[@ ])?\s*(?P<version>v?\d[\w.-]{0,40})(?:\s|$)")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_NAME_OF_WORKFLOW = re.compile(r"name\s*:\s*[\"']?(?P<name>[^\"'#]{1,80})")
_ASKED = re.compile(
    r"\b(?:the|its|our|in|by)\s+(?P<words>(?:[\w.-]{1,40}\s+){1,4}?)(?:(?:github|ci)\s+)?(?:actions?\s+)?"
    r"(?:workflow|pipeline)(?:\s+file)?s?\b",
    re.IGNORECASE,
)
_OF_CI = re.compile(r"\b(?:ci|github actions)\b|\bthe (?:workflows?|pipelines?)\b", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w.-])(?P<stem>[\w.-]{1,60})\.ya?ml\b", re.IGNORECASE)
_KEYS = {"rust": "toolchain", "erlang": "otp-version", "dart": "sdk"}
"""Keys by which steps set up a language, where it isn't its name with "-version"."""
_OF_ANY_WORKFLOW = frozenset(["github", "ci", "actions", "action", "the", "its", "our", "a", "any", "all", "same"])
"""Words before "workflow" that choose none."""


@dataclass(frozen=True, slots=True)
class _Workflow:
    """A file of a workflow: its path, its lines, and the words that name it."""

    target: Target
    path: str
    lines: Sequence[str]

    @property
    def names(self) -> frozenset[str]:
        """The name of the file without its ending, and the name that the workflow gives itself."""
        heads = (_NAME_OF_WORKFLOW.match(line[:MAX_LINE]) for line in self.lines)
        title = next((head["name"] for head in heads if head is not None), "")
        stem = self.path.rpartition("/")[2].rpartition(".")[0]
        return frozenset(normalize("-".join(name.split())) for name in (stem, title) if name.strip())


@dataclass(frozen=True, slots=True)
class _ActionUse:
    """A line of a workflow that uses an action: its name and version as written, and the statement that cites it."""

    workflow: _Workflow
    name: str
    version: str
    statement: Statement


def find_action(work: Work, name: str, *, any_owner: bool = False) -> Finding | None:
    """Return the versions of an action that workflows use; None for another name, or one that no workflow uses.

    Without its owner, only a name that says that it is an action counts, such as `upload-release-action`, unless
    `any_owner` is true. A workflow that the question names has to use it: what others use is another version.
    """
    is_bare = any_owner and _BARE_NAME.fullmatch(name) is not None
    if ACTION.fullmatch(name) is None and _BARE_ACTION.fullmatch(name) is None and not is_bare:
        return None

    workflows, query = _read_workflows(work)
    selected = _workflows_of_question(work.inquiry.question, workflows)
    uses = _uses_of_action(work, name, workflows)
    of_question = [use for use in uses if use.workflow in selected]
    if not of_question:
        return _find_unused(work, name, selected, len(workflows), query)

    first = of_question[0].statement
    different = [use for use in of_question if use.version != of_question[0].version]
    of_file = [use for use in different if use.workflow == of_question[0].workflow]
    if of_file and len(of_file) == len(different):
        versions = join_words(list(dict.fromkeys(code(use.version) for use in of_file))[:MAX_NAMED])
        evidence = [use.statement.evidence[0] for use in of_file[:MAX_NAMED]]
        first = Statement(f"{first.text}; other lines of the file list {versions}", (*first.evidence, *evidence))
    elif different:
        first = Statement(f"{first.text}; other lines list it differently", first.evidence)

    finding = Finding(first, "dependency", queries=[query], notes=work.notes, heading="Other lists")
    remaining = [*of_question[1:], *(use for use in uses if use not in of_question)]
    finding.details = [use.statement for use in remaining[: MAX_DETAILS - 1]]
    return finding


def find_actions(work: Work, verb: str, purpose: str) -> Finding | None:
    """Return the actions that workflows use, each once; for a verb or a purpose, the only one whose step has it.

    Parameters
    ----------
    work
        The question. A workflow that it names is the only one that counts.
    verb
        What the action does, such as ``setup``; empty for any.
    purpose
        Words for what it does that to, such as ``neovim``; empty for any.
    """
    workflows, query = _read_workflows(work)
    selected = _workflows_of_question(work.inquiry.question, workflows)
    uses = _uses_of_action(work, "", selected)
    if (verb or purpose) and uses:
        uses = _with_purpose(uses, verb, purpose)
        if len({normalize(use.name) for use in uses}) != 1:
            return None

    first_of_name: dict[str, _ActionUse] = {}
    for use in uses:
        first_of_name.setdefault(normalize(use.name), use)

    firsts = list(first_of_name.values())
    if not firsts or len(firsts) > _MAX_ACTIONS or len(work.inquiry.pins) > 1:
        return None

    by_file: dict[str, list[_ActionUse]] = {}
    for use in firsts:
        by_file.setdefault(use.workflow.path, []).append(use)

    parts = []
    for path, of_file in by_file.items():
        lead = f"{code(path)} lists "
        parts.append(lead + join_words([use.statement.text.removeprefix(lead) for use in of_file]))

    evidence = tuple(use.statement.evidence[0] for use in firsts)
    statement = Statement("; ".join(parts), evidence)
    finding = Finding(statement, "dependency", queries=[query], notes=work.notes)
    finding.heading = "Other lines"
    finding.details = [use.statement for use in uses if use not in firsts][:MAX_DETAILS]
    finding.method.append("Names each action once, with the first file that uses it; local actions aren't listed.")
    return finding


_MAX_ACTIONS = 30
_MAX_STEP = 40
_ALIASES = {"neovim": "n?e?o?vim", "node": "node", "golang": "go", "kubernetes": "(?:kubernetes|k8s|kind|helm)"}
_VERBS = {"setup": r"set-?up|install", "lint": r"lint", "check": r"check", "": ""}


def _with_purpose(uses: Sequence[_ActionUse], verb: str, purpose: str) -> list[_ActionUse]:
    """Return the uses whose names, or else whose steps, have the words of a verb and of a purpose."""
    words = [_ALIASES.get(word, re.escape(word.removesuffix("s"))) for word in purpose.split()]
    expressions = [re.compile(text, re.IGNORECASE) for text in (_VERBS.get(verb, re.escape(verb)), *words) if text]
    by_name = [use for use in uses if all(expression.search(use.name) for expression in expressions)]
    if by_name:
        return by_name
    return [use for use in uses if all(expression.search(_step_of(use)) for expression in expressions)]


def _step_of(use: _ActionUse) -> str:
    """Return the lines of the step of an action without comments: its name and what it is called with."""
    lines = use.workflow.lines
    index = use.statement.evidence[0].begin_line - 1 if isinstance(use.statement.evidence[0], FileEvidence) else 0
    start = index
    while start > 0 and index - start < _MAX_STEP and not lines[start].lstrip().startswith("- "):
        start -= 1
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = index + 1
    while end < len(lines) and end - index < _MAX_STEP:
        text = lines[end]
        if text.strip() and len(text) - len(text.lstrip()) <= indent:
            break
        end += 1

    return "\n".join(line[:MAX_LINE].partition(" #")[0] for line in lines[start:end])


def find_workflow_runtime(work: Work, name: str) -> Finding | None:
    """Return the version of a language that the only workflow of a question sets up; None for none or several."""
    selected = _workflows_of_question(work.inquiry.question, _read_workflows(work)[0])
    key = _KEYS.get(name, f"{name}-version")
    is_of_matrix = any("matrix." in line and key in line for workflow in selected for line in workflow.lines)
    if len(selected) != 1 or is_of_matrix:
        return None
    finding = find_key(work, key, selected[0].path)
    # An expression is worked out while the workflow runs.
    return finding if finding is not None and "${{" not in finding.headline.text else None


def names_workflow(question: str) -> bool:
    """Return whether a question is about a workflow, or about CI."""
    return _ASKED.search(question) is not None or _OF_CI.search(question) is not None


def _find_unused(work: Work, name: str, selected: Sequence[_Workflow], count: int, query: str) -> Finding | None:
    """Return that the workflow which a yes-or-no question names doesn't have an action in any line; else None."""
    is_of_one = len(selected) == 1 and count > 1
    if not is_of_one or work.notes or not asks_yes_or_no(work.inquiry.question):
        return None

    workflow = selected[0]
    tail = name.rpartition("/")[2].casefold()
    if len(workflow.lines) >= MAX_LINES or any(tail in line.casefold() for line in workflow.lines):
        return None
    text = f"No: {code(workflow.path)} does not list {code(name)}"
    return Finding(Statement(text), "dependency", queries=[query], is_negative=True)


def _read_workflows(work: Work) -> tuple[list[_Workflow], str]:
    """Return all workflows, and the search that finds them."""
    queries = make_queries(work, f"type:path file:{quote_value(WORKFLOWS)}")
    workflows = [
        _Workflow(target, row["path"], tuple(work.texts.lines(target, row["path"])[:MAX_LINES]))
        for row in run_searches(work, queries)[:MAX_FILES]
        if (target := work.inquiry.pins.of(row["repository"])) is not None and row["path"]
    ]
    return workflows, join_queries(queries)


def _workflows_of_question(question: str, workflows: Sequence[_Workflow]) -> list[_Workflow]:
    """Return the workflows that a question names, as in "the release workflow"; all where it names none.

    None are left for a name that no workflow has.
    """
    files = {match["stem"].lower() for match in _FILE.finditer(question)}
    of_file = [
        workflow for workflow in workflows if files & {workflow.path.rpartition("/")[2].rpartition(".")[0].lower()}
    ]
    if of_file:
        return of_file

    match = _ASKED.search(question)
    words = [word.lower() for word in match["words"].split()] if match is not None else []
    while words and words[0] in _OF_ANY_WORKFLOW - {"ci"}:
        del words[0]

    name = normalize("-".join(words))
    matching = [workflow for workflow in workflows if name in workflow.names]
    if matching or not words or set(words) <= _OF_ANY_WORKFLOW:
        return matching or list(workflows)
    return [workflow for workflow in workflows if set(words) & _parts_of(workflow)] if len(words) == 1 else []


def _parts_of(workflow: _Workflow) -> set[str]:
    """Return the words of the names of a workflow, also without the last letter of a plural."""
    parts = {part for name in workflow.names for part in name.split("-")}
    return parts | {part.removesuffix("s") for part in parts}


def _uses_of_action(work: Work, name: str, workflows: Sequence[_Workflow]) -> list[_ActionUse]:
    """Return the lines of some workflows that use an action; any without a name."""
    owner = "" if "/" in name else r"[\w.-]{1,100}/"
    any_name = r"[\w.-]{1,100}/[\w./-]{1,200}"
    use = re.compile(_USES.format(name=f"{owner}{re.escape(name)}{_WITHIN}" if name else any_name), re.IGNORECASE)
    uses = []
    for workflow in workflows:
        for number, line in enumerate(workflow.lines, 1):
            match = use.match(line[:MAX_LINE])
            if match is None:
                continue

            path = workflow.path
            evidence = work.texts.read_line(workflow.target, path, number)
            version = match["version"]
            # A commit says little: the comment beside it has the version that people know.
            comment = _VERSION_IN_COMMENT.match(match["comment"] or "")
            is_commit = _COMMIT.fullmatch(version) is not None
            beside = f" ({code('# ' + comment['version'])})" if comment is not None and is_commit else ""
            text = f"{code(path)} lists {code(match['name'])} {code(version)}{beside}"
            uses.append(_ActionUse(workflow, match["name"], version, Statement(text, (evidence,))))

    # An action of exactly the name comes before those of its directories.
    if not name:
        return uses
    exact = [item for item in uses if normalize(name) in {normalize(item.name), normalize(item.name.partition("/")[2])}]
    return exact or uses
