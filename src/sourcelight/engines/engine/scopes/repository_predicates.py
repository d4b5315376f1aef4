"""What ``repo:has.…`` asks of a repository: of its facts, of its history, of its files at the revision searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.batches import RepositoryFacts
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query import Alternative, Predicate
from sourcelight.core.query.dates import ACCEPTED, parse_date
from sourcelight.core.query.fields import present
from sourcelight.engines.search import Atom, FileFilter, Searcher, SearchOptions, Target, TextQuery
from sourcelight.repos import Repository, has_commit_after

_OF_FACTS = {"has.topic": "topics", "has.meta": "metadata", "has.description": "description"}
Place = tuple[str, str, str]
"""What tells targets apart: the repository's key, the revision as it was asked for, the commit."""

_OF_FILES = frozenset({"has.path", "has.content", "has.file"})


def predicates_of(alternative: Alternative) -> tuple[Predicate, ...]:
    """All predicates on repositories, the older fields ``repohasfile:`` and ``repohascommitafter:`` among them.

    Of several ``has.commit.after`` the last one counts (query-language reference, predicates).
    """
    found = list(alternative.predicates("repo"))
    found += [
        Predicate("repo", "has.path", {"path": item.value}, negated=item.negated)
        for item in alternative.all("repohasfile")
        if item.value
    ]
    found += [
        Predicate("repo", "has.commit.after", {"time": item.value})
        for item in alternative.all("repohascommitafter")
        if item.value
    ]
    dated = [item for item in found if item.name == "has.commit.after"]
    return tuple(item for item in found if item not in dated[:-1])


def check_dates(alternative: Alternative, query: str) -> None:
    """Raise `QueryError` for a date of ``has.commit.after`` that can't be read, which parsing lets pass."""
    for predicate in predicates_of(alternative):
        if predicate.name == "has.commit.after":
            try:
                parse_date(predicate.args["time"], present())
            except ValueError as fault:
                raise QueryError("invalid date format", query=query, hint=ACCEPTED) from fault


def facts_test(predicates: Iterable[Predicate]) -> Callable[[RepositoryFacts], bool]:
    """Make the test for all predicates that the facts of a repository answer."""
    tests = [(_fact(item), item.negated) for item in predicates if item.name in _OF_FACTS]
    return lambda facts: all(test(facts) is not negated for test, negated in tests)


def absent_facts(predicates: Iterable[Predicate], visible: Sequence[Repository]) -> tuple[str, ...]:
    """Name the facts that `predicates` ask for and no repository has: topics, metadata or description."""
    asked = dict.fromkeys(_OF_FACTS[item.name] for item in predicates if item.name in _OF_FACTS)
    return tuple(name for name in asked if not any(getattr(r.facts, name) for r in visible))


def _fact(predicate: Predicate) -> Callable[[RepositoryFacts], bool]:
    args = predicate.args
    if predicate.name == "has.topic":
        return lambda facts: args["topic"] in facts.topics
    if predicate.name == "has.description":
        pattern = compile_pattern(f"(?s:{args['regexp']})", kind="regexp", case_sensitive=False, whole_text=True)
        return lambda facts: bool(pattern.find(facts.description.encode()))
    is_key = _named(args["key"], is_regexp=bool(args.get("keyRegexp")))
    if args["mode"] == "key":
        return lambda facts: any(is_key(key) for key in facts.metadata)
    if args["mode"] == "tag":
        return lambda facts: any(is_key(key) and value is None for key, value in facts.metadata.items())
    is_value = _named(args["value"], is_regexp=bool(args.get("valueRegexp")))
    return lambda facts: any(is_key(k) and v is not None and is_value(v) for k, v in facts.metadata.items())


def _named(text: str, *, is_regexp: bool) -> Callable[[str], bool]:
    if not is_regexp:
        return lambda value: value == text
    pattern = compile_pattern(text, kind="regexp", case_sensitive=True, whole_text=True)
    return lambda value: bool(pattern.find(value.encode()))


def place_of(target: Target) -> Place:
    """What tells a target apart from others."""
    return target.repository.key, target.revision, target.commit


@dataclass(slots=True)
class FilePredicates:
    """Answers predicates on the history and the files of repositories; each question is asked once.

    Parameters
    ----------
    searcher
        The text index.
    cancellation
        Ends a search or a walk early; `passes` then gives None.

    Attributes
    ----------
    failed
        Targets that could not be searched, and why.
    missing
        Repositories of which contents that may decide are not there (a partial clone), and how many files.
    """

    searcher: Searcher
    cancellation: Cancellation
    failed: dict[Place, str] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[Place, TextQuery], tuple[bool, int]] = field(default_factory=dict)

    def passes(self, target: Target, predicates: Iterable[Predicate], *, case_sensitive: bool) -> bool | None:
        """Tell whether a target satisfies all predicates on history and files; None when it can't be told.

        What is not found may stand in a file that a partial clone lacks: then the answer is noted in `missing`, unless
        another predicate leaves the target out for certain.
        """
        passed, missing = True, 0
        for predicate in predicates:
            if predicate.name == "has.commit.after":
                after_s = parse_date(predicate.args["time"], present()).timestamp()
                held = has_commit_after(target.repository, target.commit, after_s, self.cancellation)
                lacking = 0
            elif predicate.name in _OF_FILES:
                found = self._holds(target, _question(predicate, case_sensitive=case_sensitive))
                if found is None:
                    return None
                held, lacking = found
            else:
                continue
            if held is predicate.negated and not lacking:
                return False
            passed = passed and held is not predicate.negated
            missing = max(missing, lacking)
        if missing:
            name = target.repository.name
            self.missing[name] = max(self.missing.get(name, 0), missing)
        return passed

    def _holds(self, target: Target, question: TextQuery) -> tuple[bool, int] | None:
        """Whether any file is as a question asks, and if not how many could not be looked into; None: stopped."""
        known = self._known.get((place_of(target), question))
        if known is not None:
            return known
        options = SearchOptions(max_matches=1, lines=False)
        missing = 0
        for part in self.searcher.search((target,), question, options, self.cancellation):
            if part.failed:
                self.failed[place_of(target)] = next(iter(part.failed.values()))
                return None
            if part.files:
                return self._known.setdefault((place_of(target), question), (True, 0))
            if question.tree is not None:
                missing += sum(counts.get("missing", 0) for counts in part.skipped.values())
        if self.cancellation.stopped:
            return None
        return self._known.setdefault((place_of(target), question), (False, missing))


def reads_files(predicates: Iterable[Predicate]) -> bool:
    """Tell whether any predicate is about files or history, so that a revision must be at hand."""
    return any(item.name in _OF_FILES or item.name == "has.commit.after" for item in predicates)


def _question(predicate: Predicate, *, case_sensitive: bool) -> TextQuery:
    path, content = predicate.args.get("path"), predicate.args.get("content")
    files: tuple[FileFilter, ...] = ()
    if path:
        test = compile_pattern(path, kind="regexp", case_sensitive=case_sensitive, whole_text=True)
        files = (FileFilter(test),)
    if not content:
        return TextQuery(None, files)
    found = compile_pattern(content, kind="regexp", case_sensitive=case_sensitive)
    return TextQuery(Atom(found, content=True, path=False), files)
