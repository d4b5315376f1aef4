"""Questions with known answers, made from real repositories, to measure ranking by.

Run: ``python benchmarks/ranking_sets.py --corpus FOLDER --out FILE [--index FOLDER] [--rows N] [--seed N]``.

FOLDER holds git repositories. For each one and each kind, up to ``--rows`` questions are drawn by a seeded generator
and written as lines of JSON. Nothing of the repositories is part of this project. Kinds:

- *symbol*: a name of several words that one or two files of code define; *term*: such a name of one word;
- *topic*: the words of a file's name, one of them inflected, with a word of its first doc comment;
- *words*: two to four words of the first sentence of a doc comment; *sentence*: the whole of it; *name*: the words of a
  type's name, the last one in the other number. All three are answered by the file with the definition;
- *readme*: a sentence of documentation that names one definition in a code span, without that name. The name has
  several words, since a lone word in a code span more often names an option or a command. Changelogs, plans, posts and
  instructions for agents give no sentences, since they describe other versions or no code; neither do translations;
- *section*: the same sentence behind the heading that it is below, without the name, as a person would ask it. It isn't
  one of the written kinds, and is reported beside them;
- *subject*: the subject of a commit, answered by the files of code that it changed. The newest commit is asked, which
  has the change itself;
- *issue*: subject and body of a commit (40 words and more) without names of files, answered by the functions that it
  changed and that still exist.

Half of the repositories of each language are for tuning, the other half for reporting; a language with one repository
falls to the half with fewer of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from corpus import Corpus

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.terms.chunker import lead_start
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of
from sourcelight.engines.symbols import KINDS, LANGUAGES, FileDefinitions, definitions

SHORT = ("symbol", "term", "topic", "words", "name")
WRITTEN = ("sentence", "readme", "subject")
SECTIONS = ("section",)
BUGS = ("issue",)

_TYPES = frozenset({"class", "interface", "struct", "enum"})
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*\*?|\*/?|#+!?|--+\|?|;;+|\{-\|?|'''|\"\"\"|@doc|~[sS])?\s*")
_TAG = re.compile(r"^\s*[@\\](?:param|return|throws|see|since|brief|deprecated)|^\s*:\w+|^\s*<")
_MARKUP = re.compile(r"<[^>]+>|\{@\w+\s*|[`*}{]|\"\"\"|'''|\*/")
_END = re.compile(r"(?<=[a-z)])\.(?:\s|$)")
_LICENSE = re.compile(r"(?i)copyright|licen[cs]e|warrant|all rights|todo|fixme|eslint|noqa|pragma")
_SPAN = re.compile(r"`([A-Za-z_][\w.:#]*)(?:\(\))?`")
_PATHS = re.compile(r"[\w./-]+\.[a-z]{1,4}\b|https?://\S+")
_TRAILER = re.compile(r"(?im)^(?:[\w-]+-by|change-id|closes?|fix(?:es)?|refs?|see|cc):?\s.*$|^\*.*$")
_DROPPED_SUBJECT = re.compile(
    r"(?i)^(?:merge|bump|release|revert|typo|fix typo|lint|version|prepare|update (?:to )?v?\d|backport)"
    r"|^\[?(?:bot|deps)|dependenc|dependabot|changelog|\bversion\b|copyright"
)
_NUMBER = re.compile(r"\s*\(?(?:#|GH-|gh-|PR |pr )\d+\)?|\b[A-Z]{3,}-\d+[:\s]*")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_ASIDE = re.compile(r"(?i)(?:^|/)(?:examples?|samples?|demos?|scripts?|tools?|bench\w*|\.\w+|docs?)/")
"""Folders whose files answer no question: whoever made one would not name them as the place."""
_OTHER_VERSIONS = re.compile(
    r"(?i)chang|histor|news|release|what'?s?[-_ ]?new|migrat|upgrad|(?:^|/)(?:seps?|rfcs?|peps?)/"
    r"|(?:^|/)(?:blog|posts?|wiki|plans?|\.\w+)/|(?:^|/)(?:agents|claude|gemini|copilot-instructions|contributing)\.md$"
)
"""Documents on versions before this one, on what may come, or on how to work on the project."""
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$|^([^\n]+)\n([=\-~^\"'#*+])\3{2,}$", re.MULTILINE)
_MIN_BODY_WORDS = 40
_MAX_FILES = 3
_MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Case:
    """A question; the files that answer it; the lines (path, first, last) that do, where they are known."""

    repository: str
    language: str
    half: str
    kind: str
    text: str
    files: list[str]
    positions: list[tuple[str, int, int]]
    commit: str
    source: str = ""
    """The document that has the question word for word. It is left out of the answers."""


@dataclass(frozen=True, slots=True)
class Place:
    """A definition in a file of code."""

    path: str
    name: str
    kind: str
    first: int
    line: int
    last: int
    sentence: str


class Source:
    """The files of one repository at its newest commit, with their definitions."""

    def __init__(self, corpus: Corpus, terms_index: OpenedTerms) -> None:
        self.terms_index, self._corpus = terms_index, corpus
        self.paths: dict[str, str] = {}
        self.positions: list[Place] = []
        self.texts: dict[str, list[str]] = {}
        self.documents: dict[str, str] = {}
        view = terms_index.snapshot.view
        for file in range(view.files):
            path = view.path(file)
            self.paths[path] = "aside" if kind_of(path) == "code" and _ASIDE.search(path) else kind_of(path)
        for shard, symbols in enumerate(terms_index.symbols):
            if symbols is None:
                continue
            placement = terms_index.snapshot.placement(shard)
            for file, document in zip(placement.files.tolist(), placement.documents.tolist(), strict=True):
                path = view.path(file)
                language = symbols.language(document)
                if language and self.paths[path] == "code":
                    self._read(path, symbols.definitions(document))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        if path not in self.texts:
            data = self._corpus.engine.store.read(self.terms_index.target, path) or b""
            self.texts[path] = data.decode("utf-8", "replace").split("\n")
        return self.texts[path]

    def _read(self, path: str, definitions: FileDefinitions) -> None:
        lines = self.lines(path)
        for name, row in zip(definitions.names, definitions.rows.tolist(), strict=True):
            _, line, start, end, _, kind, _ = row
            if KINDS[kind] in _TYPES | _FUNCTIONS:
                lead = lead_start(lines, start - 1)
                comment = lines[lead : start - 1] or _docstring(lines, line, end)
                text = name.decode("utf-8", "replace")
                self.positions.append(Place(path, text, KINDS[kind], start, line, end, _sentence(comment, text)))


def _docstring(lines: Sequence[str], line: int, end: int) -> list[str]:
    """Return the lines of a docstring below the head of a definition."""
    for index in range(line, min(line + 6, end)):
        if lines[index].strip().startswith(('"""', "'''", 'r"""')):
            return list(lines[index : min(index + 6, end)])
        if lines[index].strip() and not lines[index - 1].rstrip().endswith((",", "(")):
            break
    return []


def _sentence(comment: Sequence[str], name: str) -> str:
    """Return the first sentence of a doc comment, without the name it is of; empty without one."""
    words: list[str] = []
    for line in comment[:12]:
        text = _COMMENT.sub("", line)
        if _TAG.match(text) or (words and not text.strip()):
            break
        words += _MARKUP.sub("", text).split()
        if _END.search(" ".join(words)):
            break
    text = _END.split(" ".join(words), maxsplit=1)[0].strip(" .:")
    text = re.sub(rf"\b{re.escape(name)}\b", "", text).strip()
    tokens = text.split()
    fits = 5 <= len(tokens) <= 40 and text.isascii() and not _LICENSE.search(text) and "=" not in text
    return " ".join(tokens) if fits else ""


def symbol_rows(source: Source, *, is_single: bool) -> Iterator[tuple[str, list[Place]]]:
    """Names that few files define, of one word or of several."""
    by_name: dict[str, list[Place]] = {}
    for location in source.positions:
        by_name.setdefault(location.name, []).append(location)
    for name, positions in by_name.items():
        is_one = len(parts_of(name)) == 1
        is_long = len(name) > 2 and name.isidentifier() and positions[0].last - positions[0].first >= 4
        if is_long and is_one == is_single and len({location.path for location in positions}) <= 2:
            yield name, positions


def words_rows(source: Source, chance: random.Random, *, is_sentence: bool) -> Iterator[tuple[str, list[Place]]]:
    """Sentences of doc comments, or some of their words in order."""
    counts = Counter(location.sentence for location in source.positions)
    for location in source.positions:
        if not location.sentence or counts[location.sentence] > 1:
            continue
        words = [word for word in re.findall(r"[A-Za-z]{3,}", location.sentence) if word.lower() not in FUNCTION_WORDS]
        if len(words) < 4:
            continue
        selected = sorted(chance.sample(range(len(words)), chance.randint(2, 4)))
        yield location.sentence if is_sentence else " ".join(words[position] for position in selected), [location]


def topic_rows(source: Source, chance: random.Random) -> Iterator[tuple[str, list[Place]]]:
    """Words of the names of files that stand alone, one in another form, and a word of a doc comment there."""
    stems = Counter(path.rpartition("/")[2].partition(".")[0] for path, kind in source.paths.items() if kind == "code")
    seen: set[str] = set()
    for location in source.positions:
        name = location.path.rpartition("/")[2].partition(".")[0]
        words = [word for word in parts_of(name) if len(word) > 2]
        existing = [word for word in re.findall(r"[a-z]{4,}", location.sentence.lower()) if word not in FUNCTION_WORDS]
        existing = [word for word in existing if not any(word.startswith(earlier[:4]) for earlier in words)]
        if location.path in seen or stems[name] > 1 or not 1 <= len(words) <= 3 or not existing:
            continue
        seen.add(location.path)
        position = chance.randrange(len(words))
        bare = words[position].removesuffix("s") if len(words[position]) > 3 else words[position]
        words[position] = bare + chance.choice(["s", "ing", ""])
        words.insert(chance.choice([0, len(words)]), chance.choice(existing))
        yield " ".join(words), [location]


def name_rows(source: Source) -> Iterator[tuple[str, list[Place]]]:
    """Words of the names of types that stand alone, the last one in the other number."""
    names = Counter(location.name for location in source.positions if location.kind in _TYPES)
    for location in source.positions:
        words = parts_of(location.name)
        if (
            location.kind in _TYPES
            and names[location.name] == 1
            and len(words) > 1
            and location.last - location.first >= 8
        ):
            last = words[-1]
            words[-1] = last[:-1] if last.endswith("s") and not last.endswith("ss") else f"{last}s"
            yield " ".join(words), [location]


def readme_rows(source: Source, *, has_heading: bool) -> Iterator[tuple[str, list[Place]]]:
    """Sentences of documentation with the name of one definition taken out, alone or behind their heading."""
    by_name: dict[str, list[Place]] = {}
    for location in source.positions:
        by_name.setdefault(location.name, []).append(location)
    for path, kind in source.paths.items():
        if kind != "docs" or not path.lower().endswith((".md", ".rst")) or _OTHER_VERSIONS.search(path):
            continue
        heading = ""
        for paragraph in re.split(r"\n\s*\n", "\n".join(source.lines(path))):
            for match in _HEADING.finditer(paragraph):
                heading = match[1] or match[2]
            if "```" in paragraph or "|" in paragraph or paragraph.startswith((" ", "\t", "..")):
                continue
            for sentence in re.split(r"(?<=[a-z)`])[.!]\s", " ".join(paragraph.split())):
                spans = _SPAN.findall(sentence)
                simple = [re.split(r"[.:#]+", span)[-1] for span in spans]
                names = [name for name in dict.fromkeys(simple) if len({p.path for p in by_name.get(name, ())}) == 1]
                is_distinct = len(names) == 1 and len(parts_of(names[0])) > 1
                words = _MARKUP.sub("", _SPAN.sub(" ", sentence)).lstrip("-* ").split()
                content = [word for word in words if word.isalpha() and word.lower() not in FUNCTION_WORDS]
                text = " ".join(words)
                if is_distinct and len(spans) <= 2 and len(content) >= 6 and "](" not in sentence and text.isascii():
                    if has_heading:
                        about = _MARKUP.sub("", re.sub(rf"(?i)\b{re.escape(names[0])}\b", "", heading)).strip(" .:()")
                        text = f"{about}: {text}" if about else text
                    source.documents[text] = path
                    yield text, by_name[names[0]]


@dataclass(frozen=True, slots=True)
class Change:
    """A commit with the places of code that it changed."""

    commit: str
    subject: str
    body: str
    files: list[str]


def changes(git_dir: str, head: str, source: Source) -> Iterator[Change]:
    """Commits that changed a few files of code, newest first."""
    command = ["git", "-C", git_dir, "log", "--no-merges", "-n", "3000", "--name-status", "--no-renames",
               "--format=%x00%H%x01%s%x01%b%x02", head]  # fmt: skip
    text = subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout
    for entry in text.split("\0")[1:]:
        fields, _, names = entry.partition("\x02")
        commit, subject, body = fields.split("\x01", 2)
        changed = [line.split("\t", 1)[1] for line in names.strip().split("\n") if "\t" in line]
        code = [path for path in changed if source.paths.get(path) == "code"]
        if 1 <= len(code) <= _MAX_FILES and len(changed) <= 3 * _MAX_FILES:
            yield Change(commit, without_number(subject), body, code)


def without_number(subject: str) -> str:
    """Return the subject of a commit without numbers of requests and tickets."""
    return " ".join(_NUMBER.sub(" ", subject).split())


def changed_functions(git_dir: str, change: Change, source: Source) -> list[Place]:
    """Functions of the newest commit that a commit changed, by path and name."""
    existing = {
        (location.path, location.name): location for location in source.positions if location.kind in _FUNCTIONS
    }
    results: dict[tuple[str, str], Place] = {}
    for path in change.files:
        command = ["git", "-C", git_dir, "show", "-U0", "--format=", change.commit, "--", path]
        diff = subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout
        displayed = subprocess.run(
            ["git", "-C", git_dir, "show", f"{change.commit}:{path}"], capture_output=True, check=False
        )
        language = next((p for p in _languages(source, path)), "")
        if displayed.returncode or not language:
            continue
        rows = definitions(language, displayed.stdout)
        pairs = zip(rows.names, rows.rows.tolist(), strict=True)
        locations = [(name.decode("utf-8", "replace"), row) for name, row in pairs if KINDS[row[5]] in _FUNCTIONS]
        for match in (_HUNK.match(line) for line in diff.split("\n")):
            if match is None:
                continue
            first, count = int(match[1]), int(match[2] or 1)
            for name, row in locations:
                if row[2] <= first + max(count - 1, 0) and first <= row[3] and (path, name) in existing:
                    results[path, name] = existing[path, name]
    return list(results.values())


def main_language(source: Source) -> str:
    """Return the language of most files of code; headers count for C++ where it has files of its own."""
    view = source.terms_index.snapshot.view
    usage: Counter[str] = Counter()
    for file in range(view.files):
        language, path = view.languages[int(view.language[file])][0], view.path(file)
        if source.paths[path] == "code" and language in LANGUAGES and not path.endswith(".h"):
            usage[language] += 1
    return usage.most_common(1)[0][0]


def _languages(source: Source, path: str) -> Iterator[str]:
    view = source.terms_index.snapshot.view
    for shard, symbols in enumerate(source.terms_index.symbols):
        placement = source.terms_index.snapshot.placement(shard)
        if symbols is not None:
            for file, document in zip(placement.files.tolist(), placement.documents.tolist(), strict=True):
                if view.path(file) == path:
                    yield symbols.language(document)


Draft: TypeAlias = tuple[str, str, list[Place], list[str], str]
"""Kind, question, places, files and commit of a case."""


def cases_of(source: Source, git_dir: str, rows: int, seed: int) -> Iterator[Draft]:
    """Give the cases of a repository."""

    def chance(kind: str) -> random.Random:
        # Seeded, since a set has to be drawn again.
        return random.Random(f"{seed} {source.terms_index.target.repository.name} {kind}")  # noqa: S311

    def draft_cases(kind: str, entries: Iterator[tuple[str, list[Place]]]) -> Iterator[Draft]:
        existing = list(dict(entries).items())
        for text, positions in chance(kind).sample(existing, min(rows, len(existing))):
            yield kind, text, positions, sorted({location.path for location in positions}), ""

    yield from draft_cases("symbol", symbol_rows(source, is_single=False))
    yield from draft_cases("term", symbol_rows(source, is_single=True))
    yield from draft_cases("topic", topic_rows(source, chance("topic words")))
    yield from draft_cases("words", words_rows(source, chance("words words"), is_sentence=False))
    yield from draft_cases("sentence", words_rows(source, chance("sentence words"), is_sentence=True))
    yield from draft_cases("name", name_rows(source))
    yield from draft_cases("readme", readme_rows(source, has_heading=False))
    yield from draft_cases("section", readme_rows(source, has_heading=True))
    subjects = issues = 0
    for change in changes(git_dir, source.terms_index.commit, source):
        subject = change.subject
        if subjects < rows and 4 <= len(subject.split()) <= 20 and not _DROPPED_SUBJECT.search(subject):
            subjects += 1
            yield "subject", subject, [], change.files, change.commit
        body = _PATHS.sub(" ", _TRAILER.sub("", change.body)).strip()
        is_told = _MIN_BODY_WORDS <= len(body.split()) <= _MAX_WORDS and not _DROPPED_SUBJECT.search(subject)
        if issues < rows and is_told:
            locations = changed_functions(git_dir, change, source)
            if 1 <= len(locations) <= 4:
                issues += 1
                yield (
                    "issue",
                    f"{subject}\n\n{body}",
                    locations,
                    sorted({location.path for location in locations}),
                    change.commit,
                )
        if subjects >= rows and issues >= rows:
            break


def halves(languages: dict[str, str], seed: int) -> dict[str, str]:
    """Put each repository into a half."""
    result: dict[str, str] = {}

    def key(name: str) -> str:
        return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()

    for language in sorted(set(languages.values()), key=key):
        for name in sorted(
            (name for name, language_of_repository in languages.items() if language_of_repository == language), key=key
        ):
            counts = Counter(result.values())
            siblings = Counter(result[other] for other in result if languages[other] == language)
            result[name] = min(("tune", "report"), key=lambda half: (siblings[half], counts[half], half))
    return result


def main() -> None:
    """Make the sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--index")
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--seed", type=int, default=22)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Corpus(options.corpus, options.index or temporary)
        sources: dict[str, tuple[Source, str]] = {}
        languages: dict[str, str] = {}
        for repository in corpus.repositories:
            target = corpus.engine.target_of(repository)
            try:
                corpus.engine.update_terms([target], Cancellation())
                terms_index = corpus.engine.terms.open(target)
            except SourcelightError as exc:
                sys.exit(f"{repository.name}: {exc}")
            source = Source(corpus, terms_index)
            sources[repository.name] = source, repository.git_dir
            languages[repository.name] = main_language(source)
        half = halves(languages, options.seed)
        counts: Counter[tuple[str, str]] = Counter()
        with options.out.open("w", encoding="utf-8") as file:
            for name, (source, git_dir) in sources.items():
                for kind, text, positions, files, commit in cases_of(source, git_dir, options.rows, options.seed):
                    gold = [(location.path, location.first, location.last) for location in positions]
                    document = source.documents.get(text, "") if kind in {"readme", *SECTIONS} else ""
                    case = Case(name, languages[name], half[name], kind, text, files, gold, commit, document)
                    file.write(json.dumps(asdict(case)) + "\n")
                    counts[kind, half[name]] += 1
                print(name, languages[name], half[name], file=sys.stderr, flush=True)
        print({f"{kind} {of}": count for (kind, of), count in sorted(counts.items())})


if __name__ == "__main__":
    main()
