"""Counts of the parts of a project that have a directory each: "how many charts are in charts".

A directory with a manifest of its own is one. Files of such a directory would be another number. Of a directory that
the question doesn't name, only files of one kind count, and a sentence says which others it has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from sourcelight.core.markup import code, join_first, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, join_queries, make_queries, run_searches

_MANIFESTS = re.compile(
    r"package\.json|Cargo\.toml|build\.gradle(?:\.kts)?|pom\.xml|Chart\.ya?ml|pyproject\.toml|setup\.(?:py|cfg)|go\.mod"
    r"|composer\.json|mix\.exs|rebar\.config|pubspec\.ya?ml|Package\.swift|build\.sbt|shard\.yml|deps\.edn|project\.clj"
    r"|dune-project|galaxy\.yml|[\w.-]{1,80}\.(?:csproj|fsproj|vbproj|gemspec|cabal|nimble|podspec|opam|rockspec)"
)
"""Names of files that make their directory a part with a build of its own."""
_OF_DIRECTORIES = re.compile(
    r"charts?|crates?|packages?|librar(?:y|ies)|libs?|apps?|applications?|add-?ons?|roles?|(?:sub-?)?projects?|bundles?",
    re.IGNORECASE,
)
"""Nouns of things that are directories, never files."""
_MIN_PARTS = 2
"""Fewer directories with a manifest are an exception among others, and not what a noun means."""
_MAX_MANIFESTS = 3
"""Names of manifests that a sentence lists."""


def count_parts(work: Work, fact: Fact) -> Fact | None:
    """Count the directories right below that of a question by their manifests; the files of one without directories.

    None if neither tells what is counted, as in a directory with both files and directories without a manifest.

    Parameters
    ----------
    work
        The request under way, whose path is that of a directory.
    fact
        The count of its files at any depth.
    """
    table = fact.tables[0]
    scopes = work.request.paths
    if len(scopes) != 1 or scopes[0].is_file or table.total > len(table.rows):
        return fact

    beginning = re.compile(scopes[0].pattern)
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    below = 0
    for repository, path, *_ in table.rows:
        start = beginning.search(path)
        above = path[: start.end()] if start is not None else ""
        folder, _, rest = path[len(above) :].partition("/")
        if not rest:
            continue
        below += 1
        key = repository, f"{above}{folder}"
        names[key].update([rest] if "/" not in rest and _MANIFESTS.fullmatch(rest) else ())

    # A directory without a manifest may be anything, such as documents beside the modules.
    parts = {key: manifests for key, manifests in names.items() if manifests}
    if work.request.relation == "inferred":
        if work.request.subject == "translations":
            return _count_translations(fact, scopes[0].glob, beginning)
        if len(parts) < len(names) or not names:
            return _count_alike(fact, scopes[0].glob, beginning)

    if len(parts) < _MIN_PARTS or 2 * len(parts) < len(names):
        if not below and any(_FRAME.search(path) for _, path, *_ in table.rows):
            return _count_alike(fact, scopes[0].glob, beginning) or fact
        is_of_directories = _OF_DIRECTORIES.fullmatch(work.request.subject) is not None
        return None if is_of_directories or 2 * below > len(table.rows) else fact

    manifests = Counter(name for of_part in parts.values() for name in of_part)
    examples = join_first([code(name) for name, _ in manifests.most_common()], _MAX_MANIFESTS)
    remaining_count = len(names) - len(parts)
    fact.number, fact.unit = len(parts), "folders"
    fact.subject = f"directories directly in {code(scopes[0].glob)} have a manifest of their own ({examples})"
    if remaining_count:
        fact.subject += f"; {remaining_count:,} more {'has' if remaining_count == 1 else 'have'} none"
    fact.rule = "Counts the directories right below with a manifest of a build tool directly in them."
    fact.repositories = Counter(repository for repository, _ in parts)
    fact.tables = [Rows("Folders", ("repository", "folder"))]
    fact.sentences = []
    for key in sorted(parts):
        fact.tables[0].add(key)
    return fact


_FRAME = re.compile(r"(?:^|/)(?:__init__\.py|package-info\.java|\.git(?:keep|ignore)|README(?:\.\w+)?)$", re.IGNORECASE)
"""A file that holds a directory together, and is none of the things that it is called for."""
_HELPERS_TEXT = """
index mod __init__ init main lib readme util utils utility common base shared helper helpers types type constants
abstract all package default kustomization license changelog gitkeep gitignore conftest setup registry loader test tests
package-info module-info
"""
_HELPERS = frozenset(_HELPERS_TEXT.split())
"""Stems of files beside those of the things that a directory has."""
_MAX_BESIDE = 4
_LOCALE = re.compile(
    r"[a-z]{2,3}(?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2,3}|\d{3}|[a-z]{2}|latn|cyrl|hans|hant)){0,2}", re.ASCII
)
"""The name of a language with its script or region, such as ``pt-BR``."""


def _entries_of(fact: Fact, beginning: re.Pattern[str]) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the files directly in a directory, each with its path, and the directories directly in it."""
    direct: list[tuple[str, str]] = []
    folders: set[str] = set()
    for _, path, *_ in fact.tables[0].rows:
        name = beginning.sub("", path, count=1)
        if "/" in name:
            folders.add(name.partition("/")[0])
        else:
            direct.append((name, path))

    return direct, folders


def _count_alike(fact: Fact, folder: str, beginning: re.Pattern[str]) -> Fact | None:
    """Count the files of one kind in a directory, or its directories if it has no files; None for a mixture."""
    direct, folders = _entries_of(fact, beginning)
    things = [(name, path) for name, path in direct if not _is_helper(name)]
    if not things and len(folders) >= _MIN_PARTS and not any(_is_helper(name) for name in folders):
        return _of_folders(fact, folder, sorted(folders))
    if folders or not things:
        return None

    endings = Counter(name.rpartition(".")[2] for name, _ in things)
    ending, count = endings.most_common(1)[0]
    selected = [(name, path) for name, path in things if name.rpartition(".")[2] == ending]
    beside_names = sorted(name for name, _ in direct if name not in {name for name, _ in selected})
    if count < _MIN_PARTS or len(beside_names) > _MAX_BESIDE:
        return None
    return _of_files(fact, f"{folder}*.{ending}", selected, beside_names)


def _is_helper(name: str) -> bool:
    """Return whether a name is none of a thing, such as ``index.js`` or ``README.md``."""
    stem = name.lstrip("_.").partition(".")[0].lower()
    return name.startswith(("_", ".")) or stem in _HELPERS or name.lower().startswith(("readme", "test_", "abstract"))


def _of_folders(fact: Fact, folder: str, names: Sequence[str]) -> Fact:
    fact.number, fact.unit = len(names), "folders"
    fact.subject = f"directories are directly in {code(folder)}"
    fact.rule = "Counts the directories right below, of which each has files."
    fact.repositories = Counter({repository: len(names) for repository in list(fact.repositories)[:1]})
    table = Rows("Folders", ("repository", "folder"))
    for name in names:
        table.add((next(iter(fact.repositories), ""), f"{folder}{name}"))
    fact.tables, fact.sentences = [table], []
    return fact


def _of_files(
    fact: Fact, glob: str, files: Sequence[tuple[str, str]], beside_names: Sequence[str], note: str = ""
) -> Fact:
    paths = {path for _, path in files}
    rows = [(row, citation) for row, citation in zip(fact.tables[0].rows, fact.tables[0].citations, strict=True)]
    table = Rows("Files", fact.tables[0].columns)
    for row, citation in rows:
        if row[1] in paths:
            table.add(row, citation)

    fact.number = len(files)
    beside = f", besides {join_words([code(name) for name in beside_names])}" if beside_names else ""
    fact.subject = f"{'file' if len(files) == 1 else 'files'} in {code(glob)}{note}{beside}"
    fact.repositories = Counter({repository: len(files) for repository in list(fact.repositories)[:1]})
    fact.tables, fact.sentences = [table], []
    fact.rule = "Counts the files of one ending directly in the only directory that is called so."
    return fact


def _count_translations(fact: Fact, folder: str, beginning: re.Pattern[str]) -> Fact | None:
    """Count the files or directories that are named like languages; None if others are as many."""
    direct, folders = _entries_of(fact, beginning)
    locales = {name for name in folders if _LOCALE.fullmatch(name) is not None}
    if len(locales) >= _MIN_PARTS and not direct and len(folders) - len(locales) <= 1:
        beside_names = sorted(folders - locales)
        fact = _of_folders(fact, folder, sorted(locales))
        fact.subject += " and named like languages"
        fact.subject += f", besides {code(beside_names[0])}" if beside_names else ""
        return fact

    files = [(name, path) for name, path in direct if any(map(_LOCALE.fullmatch, _parts_of(name)))]
    endings = {name.rpartition(".")[2] for name, _ in files}
    beside_names = sorted(name for name, _ in direct if name not in {name for name, _ in files})
    if folders or len(files) < _MIN_PARTS or len(endings) != 1 or len(beside_names) > _MAX_BESIDE:
        return None
    return _of_files(fact, f"{folder}*.{endings.pop()}", files, beside_names, " are named like languages")


def _parts_of(name: str) -> Sequence[str]:
    """Return the parts of a name of which one may be a language: ``pt-BR`` of ``messages.pt-BR.json``."""
    stem = name.rpartition(".")[0]
    return (stem, stem.rpartition(".")[2], stem.partition(".")[0], stem.rpartition("_")[2], stem.rpartition("-")[2])


_MEMBER = re.compile(r"[\"']([^\"'*]{1,200})[\"']")
_MODULE = re.compile(r"<module>\s*([^<]{1,200}?)\s*</module>")
_INCLUDE = re.compile(r"^\s*include\b(?P<rest>.{1,2000})")
_MAX_LINE, _MAX_LINES = 2_000, 3_000
_MANIFEST_OF = {"charts": "Chart.yaml", "crates": "Cargo.toml"}


def count_listed_parts(work: Work) -> Fact | None:
    """Count the members of a workspace or the modules that a build at the top lists, or charts by their manifests."""
    subject = work.request.subject
    if subject in _MANIFEST_OF:
        return _count_manifests(work, _MANIFEST_OF[subject])

    texts = work.texts
    names = {"members": ("Cargo.toml",), "modules": ("pom.xml", "settings.gradle", "settings.gradle.kts")}[subject]
    for name in names:
        queries = make_queries(work, f"type:path file:{quote_value(f'^{re.escape(name)}$')}")
        for row in find_rows(work, queries).rows:
            target = work.inquiry.pins.of(row["repository"])
            lines = texts.lines(target, row["path"])[:_MAX_LINES] if target is not None and row["path"] else []
            entries = _listed_in(name, lines)
            if entries and target is not None:
                subject_text = f"{subject} are" if len(entries) != 1 else f"{subject.removesuffix('s')} is"
                in_profiles = _in_profiles(lines) if name == "pom.xml" else 0
                profile_text = f", and {in_profiles:,} in profiles" if in_profiles else ""
                fact = Fact(
                    len(entries),
                    f"{subject_text} listed in {code(name)}{profile_text}",
                    join_queries(queries),
                    "Counts the entries of the list, each of which is a directory.",
                    unit=subject,
                )
                fact.repositories = Counter({row["repository"]: len(entries)})
                table = Rows(subject.capitalize(), ("repository", "path", "line_number", "line"))
                for entry, number in entries:
                    citation = CitedLine(row["repository"], target.commit, name, number)
                    table.add((row["repository"], name, number, entry), citation)
                fact.tables = [table]
                return fact

    return None


def _listed_in(name: str, lines: Sequence[str]) -> list[tuple[str, int]]:
    """Return the entries of the list of a build, each with its line (from 1); none where a pattern stands for some."""
    entries: list[tuple[str, int]] = []
    is_inside = is_commented = False
    for number, line in enumerate(lines, 1):
        text = line[:_MAX_LINE]
        if name == "Cargo.toml":
            text = text.partition("#")[0]
            is_inside = is_inside or re.match(r"\s*members\s*=\s*\[", text) is not None
            if is_inside and "*" in text:
                return []
            entries += [(match[1], number) for match in _MEMBER.finditer(text)] if is_inside else []
            is_inside = is_inside and "]" not in text
        elif name == "pom.xml":
            text = re.sub(r"<!--(?:(?!-->).){0,2000}-->", "", text)
            is_commented = (is_commented or "<!--" in text) and "-->" not in text
            # Those of a profile are no beside_names, but the build without it has fewer.
            if "<profiles>" in text:
                break
            entries += [] if is_commented else [(match[1], number) for match in _MODULE.finditer(text)]
        else:
            include = _INCLUDE.match(text.partition("//")[0])
            is_inside = is_inside or include is not None
            entries += [(match[1], number) for match in _MEMBER.finditer(text.partition("//")[0])] if is_inside else []
            is_inside = is_inside and text.rstrip().endswith((",", "("))

    return entries


def _in_profiles(lines: Sequence[str]) -> int:
    """Return how many modules the profiles of a project of Maven list."""
    start = next((number for number, line in enumerate(lines) if "<profiles>" in line), len(lines))
    return sum(len(_MODULE.findall(line[:_MAX_LINE])) for line in lines[start:])


def _count_manifests(work: Work, name: str) -> Fact | None:
    """Count the directories with a manifest of a name, without those of tests and examples."""
    queries = make_queries(work, f"type:path file:{quote_value(f'(^|/){re.escape(name)}$')}")
    texts = work.texts
    paths = []
    beside = 0
    for row in run_searches(work, queries):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or not row["path"]:
            continue
        if not rank_of(row["path"]).is_of_project:
            beside += 1
        elif name != "Cargo.toml" or any(line.strip() == "[package]" for line in texts.lines(target, row["path"])):
            paths.append((row["repository"], row["path"], target.commit))

    if not paths:
        return None

    package = " with a package" if name == "Cargo.toml" else ""
    have = "directories have" if len(paths) != 1 else "directory has"
    text = f"{have} {'an' if name[0] in 'AEIO' else 'a'} {code(name)}{package}"
    text += f"; {beside:,} more {'is' if beside == 1 else 'are'} in directories of tests or examples" if beside else ""
    fact = Fact(
        len(paths), text, join_queries(queries), "Counts manifests by their names.", notes=work.notes, unit="folders"
    )
    fact.repositories = Counter(repository for repository, _, _ in paths)
    table = Rows("Manifests", ("repository", "path"))
    for repository, path, commit in sorted(paths):
        table.add((repository, path), CitedLine(repository, commit, path))

    fact.tables = [table]
    return fact
