"""The file or directory that a question for a person or a date describes: "the TOML decoder" is `decoder_toml.go`.

A path counts only if its name and the names of the directories above it have all words of the description, and no other
path fits as well. The answer names the path, so that a reader sees what was taken for the subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sourcelight.core.markup import code, singular
from sourcelight.engines.deepsearch.facts.paths import PathNames, rank_of
from sourcelight.engines.deepsearch.lookups.project.commit_subjects import WORD, all_forms_of, stem_of
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_MAX_WORDS, _MAX_ENDINGS = 6, 3
_VERBS = (
    r"(?:add|creat|introduc|implement|chang|remov|delet|renam|edit|touch|modif|updat|start|rewr|mov)\w*|wr(?:ote|itten)"
    r"|built|set up"
)
_FIRST_OR_LAST = r"(?:(?:last|first|originally|initially) )?"
_FORMS_TEXT = rf"""
(?P<before>who wrote most of )(?P<subject>.+)
(?P<before>(?:who|which (?:person|author|commit)) {_FIRST_OR_LAST}(?:{_VERBS}) )(?P<subject>.+)
(?P<before>(?:in which commit|when|since when) (?:was|were) )(?P<subject>.+?)(?P<after> {_FIRST_OR_LAST}(?:{_VERBS}))
(?P<before>(?:what|when|who made) (?:(?:is|was) )?(?:the )?(?:last|latest|newest) (?:change|edit) to )(?P<subject>.+)
(?P<before>who (?:owns|maintains) )(?P<subject>.+)
"""
_FORMS = tuple(re.compile(form, re.IGNORECASE) for form in _FORMS_TEXT.strip().split("\n"))
"""Questions for a person or a date with their subject."""
_PAST = re.compile(r"\b(?:remov|delet|drop)", re.IGNORECASE)
_OF_WHOLE = re.compile(r"\b(?:most|last|latest|newest|recent|owns|maintains|first)\b", re.IGNORECASE)
"""Words of questions about what is there, for which one word may name a path."""
_DETERMINER = re.compile(r"^(?:the|a|an|our|its|this|that|their|your)\s+", re.IGNORECASE)
_GENERIC_TEXT = """
file script module directory folder dir package crate class code source header component document doc page gem
implementation library logic part stuff subpackage subproject project shim
"""
_GENERIC = frozenset(map(stem_of, _GENERIC_TEXT.split()))
"""Nouns for files and directories, which their names needn't have."""
_FOLDERS = frozenset(
    map(stem_of, ("directory", "folder", "dir", "package", "module", "chart", "crate", "subpackage", "gem"))
)
_ROLES = (
    (r"licen[cs]e(?: (?:file|text))?", r"(?:LICEN[CS]E|COPYING|UNLICEN[CS]E)(?:[.-][\w.-]+)?"),
    (r"read-?me(?: file)?", r"README(?:\.\w+)?"),
    (r"change ?log(?: file)?|release notes?(?: file)?", r"(?:CHANGE(?:LOG|S)|HISTORY|NEWS|RELEASE[_-]NOTES)(?:\.\w+)?"),
    (r"contribut(?:ing|ion) (?:guide(?:line)?s?|docs?|documentation|file|rules)", r"CONTRIBUTING(?:\.\w+)?"),
    (r"code of conduct(?: file)?", r"CODE[_-]OF[_-]CONDUCT(?:\.\w+)?"),
    (r"security (?:policy|file|docs?)", r"SECURITY(?:\.\w+)?"),
    (r"docker ?file", r"Dockerfile"),
    (r"make ?file", r"(?:GNU)?[Mm]akefile"),
    (r"code ?owners?(?: file)?", r"CODEOWNERS"),
    (r"git ?ignore(?: file)?", r"\.gitignore"),
    (r"editor ?config(?: file)?", r"\.editorconfig"),
    (r"mail ?map(?: file)?", r"\.mailmap"),
)  # fmt: skip
"""Descriptions of files that most projects have, and their names."""
_WORKFLOWS = re.compile(
    r"(?:ci|github(?: actions)?|ci/cd) (?:workflows?|config(?:uration)?|pipelines?|set-?up)", re.IGNORECASE
)
_DIRECTORIES_OF_ROLES = ("", ".github/", "docs/", "doc/")


def name_subject_paths(inquiry: ResearchRequest) -> list[ResearchRequest]:
    """Return a question for a person or a date with the path that its subject describes; empty if no single one fits.

    A former file may have had several endings, such as ``.yml`` and ``.yaml``: each of them makes a question.
    """
    # A word in back quotes is a name, as the only word of a question is, and no text to look for.
    text = re.sub(r"`([\w-]+)`", r"\1", inquiry.words.strip().rstrip(" ?.!"))
    if "`" in text or '"' in text:
        return []

    match = next((fitting for form in _FORMS if (fitting := form.fullmatch(text)) is not None), None)
    if match is None:
        return []

    subject = _DETERMINER.sub("", match["subject"].strip())
    paths = PathNames(inquiry)
    # "Package.swift" is the file, rather than the words of another path.
    if paths.find(subject) is not None and "." in subject:
        return []
    is_past = _PAST.search(text) is not None
    path_of_role = _path_of_role(subject, paths)
    fitting_paths = (
        [path_of_role]
        if path_of_role
        else _paths_of_words(
            subject,
            _paths_of(paths, is_past=is_past),
            may_be_one_word=_OF_WHOLE.search(match["before"] + (match.groupdict().get("after") or "")) is not None,
            is_past=is_past,
        )
    )
    # A directory is told by its slash; between quotation marks it would be a text, as a former path is.
    is_bare = re.compile(r"[\w./-]+")
    names = [
        path if path.endswith("/") or (is_past and is_bare.fullmatch(path) is not None) else code(path)
        for path in fitting_paths
    ]
    before, after = match["before"], match.groupdict().get("after") or ""
    return [inquiry.with_words(re.sub(r"\bset up\b", "added", f"{before}{name}{after}")) for name in names]


_COUNTED = re.compile(
    r"(?P<before>\W*(?:how many|(?:what(?:'s| is) )?(?:the )?number of) .{2,80}? "
    r"(?:(?:(?:are|is)(?: there)? )?in|does|do) )"
    r"(?:the )?(?P<subject>[\w' -]{2,60}?\b(?:specs?|tests?|test (?:file|suite|class|module)|spec file|file"
    r"|folder|directory|script"
    r"|module|header|stylesheet))",
    re.IGNORECASE,
)
_FURTHER_DOWN = re.compile(
    r",? ?\(?(?:counting|including|with) (?:all )?(?:its )?(?:sub-?(?:folders|directories|dirs)|nested ones)\)?$",
    re.IGNORECASE,
)


def name_counted_path(inquiry: ResearchRequest) -> ResearchRequest | None:
    """Return a question for a number with the path of the file or directory that it describes; None for another one."""
    text = re.sub(r" (?:have|contain|hold|define)$", "", inquiry.words.strip().rstrip(" ?.!"))
    match = _COUNTED.fullmatch(_FURTHER_DOWN.sub("", text))
    if match is None:
        return None
    subject = match["subject"].replace("'s", "")
    fitting = _paths_of_words(
        subject, _paths_of(PathNames(inquiry), is_past=False), may_be_one_word=True, is_past=False
    )
    is_plain = len(fitting) == 1 and re.fullmatch(r"[\w./-]+", fitting[0]) is not None
    if is_plain:
        # Each word but the last, which may say what it is, is one of the path.
        parts = {singular(part.lower()) for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", fitting[0])}
        words = [part.lower() for word in WORD.findall(subject)[:-1] for part in re.split(r"[-_.]", word)]
        is_plain = all(singular(word) in parts for word in words if word not in FUNCTION_WORDS)
    before = re.sub(r" (?:does|do) $", " are in ", match["before"])
    return inquiry.with_words(f"{before}{fitting[0]}") if is_plain else None


def name_word_path(inquiry: ResearchRequest) -> tuple[ResearchRequest, str] | None:
    """Return a question for when one word was added or removed, with the path that is called so, and that word.

    None for others. The commit answers only if its subject names the word, too: see `says_event`.
    """
    match = _WORD_ADDED.fullmatch(re.sub(r"`([\w-]+)`", r"\1", inquiry.words.strip().rstrip(" ?.!")))
    paths = PathNames(inquiry)
    if match is None or match["subject"].lower() in _GENERIC_TEXT.split():
        return None

    word = match["subject"].lower()
    is_past = _PAST.search(match[0]) is not None
    candidates = _paths_of(paths, is_past=is_past)
    called = [path for path in candidates if rank_of(path).is_of_project and not _OF_TESTS.search(path)]
    called = [path for path in called if _without_ending(path).rpartition("/")[2].lstrip(".").lower() == word]
    depth = min((path.rstrip("/").count("/") for path in called), default=0)
    first = [path for path in called if path.rstrip("/").count("/") == depth]
    if len(first) != 1:
        return None
    path = first[0] if first[0].endswith("/") or is_past else code(first[0])
    return inquiry.with_words(f"{match['before']}{path}{match['after']}"), word


_WORD_ADDED = re.compile(
    r"(?P<before>(?:who|when) (?:was |were )?(?:(?:added|introduced|implemented|removed|dropped|deleted) )?)"
    r"(?P<subject>[A-Za-z][\w-]{2,40})(?P<after>(?: (?:added|introduced|implemented|removed|dropped|deleted))?)",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:add|support|introduc|implement|initial|new|creat|feat)\w*\b", re.IGNORECASE)
_REMOVES = re.compile(r"\b(?:remov|delet|drop|kill|retir|replac|migrat|clean)\w*\b|\bget rid\b", re.IGNORECASE)
_QUOTED_SUBJECT = re.compile(r"in commit “(?P<subject>[^”]{1,300})”")


def says_event(sentence: str, word: str) -> bool:
    """Return whether the commit that a sentence quotes says by its subject that it adds, or removes, such a thing."""
    match = _QUOTED_SUBJECT.search(sentence)
    is_of_word = match is not None and re.search(
        rf"(?<![\w-]){re.escape(word)}(?![\w-])", match["subject"], re.IGNORECASE
    )
    verbs = _REMOVES if " was removed by " in sentence else _ADDS
    return match is not None and bool(is_of_word) and verbs.search(match["subject"]) is not None


def names_kind_of_path(text: str) -> bool:
    """Return whether a question says of its subject that it is a file or a directory: "the alertmanager chart"."""
    return _KIND_OF_PATH.search(text) is not None


_KIND_OF_PATH = re.compile(
    r"\b(?:file|script|module|director(?:y|ies)|folder|dir|package|crate|chart|plugin|middleware|component|page"
    r"|sub-?package"
    r"|gem|playbook|role|recipe|workflow|template|guide|chapter)\b",
    re.IGNORECASE,
)


def _paths_of(paths: PathNames, *, is_past: bool) -> set[str]:
    """Return the files and directories of the searched commits, or former ones; directories have a slash at the end."""
    if len({repository for repository, _ in paths.paths}) > 1:
        return set()
    files = paths.former_files() if is_past else {path for names in paths.paths.values() for path in names}
    return files | {f"{path}/" for path in _directories_of(files)}


def _directories_of(files: Iterable[str]) -> set[str]:
    directories: set[str] = set()
    for path in files:
        directory = path.rpartition("/")[0]
        while directory and directory not in directories:
            directories.add(directory)
            directory = directory.rpartition("/")[0]
    return directories


def _path_of_role(subject: str, paths: PathNames) -> str:
    """Return the file that a project has for a purpose, such as its license, or the directory of its workflows."""
    if _WORKFLOWS.fullmatch(subject) is not None:
        return ".github/workflows/" if paths.is_folder(".github/workflows") else ""

    name = next((name for words, name in _ROLES if re.fullmatch(words, subject, re.IGNORECASE)), "")
    if not name:
        return ""

    files = [path for names in paths.paths.values() for path in names]
    for directory in _DIRECTORIES_OF_ROLES:
        fitting = [path for path in files if re.fullmatch(re.escape(directory) + name, path, re.IGNORECASE)]
        if fitting:
            return fitting[0] if len(fitting) == 1 else ""
    return ""


def _paths_of_words(subject: str, candidates: Iterable[str], *, may_be_one_word: bool, is_past: bool) -> list[str]:
    """Return the only path whose name, with those of directories above it, has all words of a description.

    Of former files, those that differ by their endings alone are one.
    """
    words = [word for word in WORD.findall(subject) if word.lower() not in FUNCTION_WORDS]
    stems = _stems_of_words(words)
    specific = [stem for stem in stems if stem not in _GENERIC]
    if not specific or len(words) > _MAX_WORDS:
        return []

    if len(stems) < 2 and not may_be_one_word:
        # A name in small letters: "isstrongpassword".
        candidates = [path for path in candidates if _is_joined(path, words[0])]

    # The parts of `mill-utils` are one name: `mill-core/src/utils.js` has both, and isn't called so.
    compounds = [
        re.sub(r"[-_.]+", "", word).lower().removesuffix("s") for word in words if re.search(r"\w[-_.]+\w", word)
    ]
    candidates = [path for path in candidates if all(name in _letters_of(path) for name in compounds)]

    wants_folder = bool(_FOLDERS & set(stems))
    ranked: list[tuple[tuple[int, ...], str]] = []
    for path in candidates:
        score = _score(path, stems, wants_folder=wants_folder)
        if score is not None:
            ranked.append((score, path))

    if not ranked:
        return []
    best = max(score for score, _ in ranked)
    fitting = [path for score, path in ranked if score == best]
    if is_past and len({_without_ending(path) for path in fitting}) == 1 and len(fitting) <= _MAX_ENDINGS:
        return sorted(fitting) if len(ranked) == len(fitting) else []
    # A file and a directory of one name, such as lib/gate.rb and lib/gate/, belong together.
    names = {_without_ending(path) for _, path in ranked if path != fitting[0]}
    is_only = len(fitting) == 1 and _without_ending(fitting[0]) not in names
    return fitting if is_only else []


def _letters_of(path: str) -> str:
    return re.sub(r"[^a-z\d]+", "", path.lower())


def _without_ending(path: str) -> str:
    return re.sub(r"\.\w+$", "", path.rstrip("/"))


def _stems_of_words(words: Sequence[str]) -> list[str]:
    """Return the stems of words, with those of each part of a name such as `mockk-bdd`."""
    stems: list[str] = []
    for word in words:
        parts = [part for part in re.split(r"[-_.]", word) if part]
        stems += [stem_of(part) for part in parts]
    return list(dict.fromkeys(stems))


_OF_TESTS = re.compile(r"(?:^|/)(?:tests?|specs?|fixtures?|examples?|samples?|docs?)/", re.IGNORECASE)


def _is_joined(path: str, word: str) -> bool:
    """Return whether the name of a file has several words that are one in a question."""
    name = path.rpartition("/")[2].partition(".")[0]
    return len(re.findall(r"[A-Z]?[a-z]+|\d+", name)) > 1 and re.sub(r"[_-]", "", name).lower() == word.lower()


def _score(path: str, stems: Sequence[str], *, wants_folder: bool) -> tuple[int, ...] | None:
    """Return how well a path fits a description, more is better; None if it doesn't."""
    is_folder = path.endswith("/")
    *above, name = path.rstrip("/").split("/")
    base = name if is_folder else name.partition(".")[0] or name.lstrip(".").partition(".")[0]
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", base)
    own_stems = {stem_of(part) for part in parts}
    words = set(stems)
    # A name of one piece may be written in several words: "data loader" is dataloader.
    if not own_stems or not (own_stems <= words or stem_of("".join(parts)) == "".join(stems)) or own_stems <= _GENERIC:
        return None

    directories = frozenset(form for directory in above for form in all_forms_of(directory))
    missing = words - own_stems - _GENERIC - directories
    if missing and stem_of("".join(parts)) != "".join(stems):
        return None
    if (not rank_of(path).is_of_project or _OF_TESTS.search(path) is not None) and not re.search(
        r"\b(?:test|spec|doc|exampl|guid)", " ".join(stems)
    ):
        return None
    return len(own_stems & words), int(wants_folder == is_folder), -len(above)
