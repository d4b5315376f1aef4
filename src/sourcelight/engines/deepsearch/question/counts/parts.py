"""Read questions for things that a project keeps in files or directories of their own: "how many plugins are bundled".

With a directory in the question, its files count. Without one, the only directory that is called as the things does,
and a word that neither names it nor is grammar makes it another question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import singular
from sourcelight.engines.deepsearch.question.request import FactRequest, PathScope, QuestionPaths

_FILE_NOUNS = (
    r"(?:plugins?|modules?|commands?|sub-?commands?|adapters?|handlers?|helpers?|drivers?|middlewares?|extensions?"
    r"|formatters?|reporters?|rules?|checks?|cops?|migrations?|recipes?|themes?|providers?|backends?|services?|controllers?"
    r"|models?|views?|components?|widgets?|hooks?|tasks?|jobs?|filters?|loaders?|parsers?|generators?|converters?|validators?"
    r"|strategies|workflows?|specs?|fixtures?|schemas?|locales?|translations?|examples?|samples?|demos?|templates?|layouts?"
    r"|decorators?|processors?|engines?|transports?|matchers?|playbooks?|exporters?|integrations?|benchmarks?|serializers?"
    r"|encoders?|decoders?|renderers?|resolvers?|stages|steps|snippets?|icons?|stubs|mixins?|concerns|partials|utilities|storages?|stores?|managers?|scenarios?|subsystems?|builders?|factories|connectors?|clients?"
    r"|charts?|crates?|packages?|librar(?:y|ies)|libs|apps?|applications?|add-?ons?|roles?|(?:sub-?)?projects?|bundles?"
    r"|lints?|presets?|policies|dashboards?|skills?|agents?|prompts?|keymaps?|colorschemes?|colou?r schemes?|palettes?"
    r"|changes|entries|articles|posts|guides|tutorials|lessons|exercises|solutions|challenges|patches|queries|crds)"
)
"""Nouns of things that projects keep in files of their own."""
_PREPOSITION = r"(?:in|under|inside|within|below|beneath)"
_BE_IN = (
    r"(?: (?:are|is|live|lives|exist|ship|ships|sit|sits|reside|resides|contain|have|include|come|comes"
    r"|(?:do we|do they|does it|does (?:this|the) (?:repo|repository|project|[\w-]+)) "
    r"(?:have|contain|ship|include|bundle|keep|provide)))?"
    r"(?: (?:there|bundled|shipped|stored|located|kept|defined|waiting|included|available|currently|checked in"
    r"|contained|present|provided|listed|pending)){0,2}(?: (?P<direct>directly|right|immediately))?"
)
_FILE_EACH = re.compile(
    rf"(?P<asks>how many|which|what|list(?: all)?|the number of) (?:the )?(?:(?:different|available|built-in|builtin"
    rf"|bundled|separate|various|individual|distinct) )?(?P<noun>{_FILE_NOUNS})"
    rf"(?: (?:files|programs|apps|projects))?{_BE_IN}"
    rf" {_PREPOSITION} (?:the )?(?P<folder>`[\w./-]{{1,200}}`|[\w./-]{{1,200}})"
    r"(?: (?:folder|directory|dir))?\s*\??",
    re.IGNORECASE,
)
_FOLDER_HAS = re.compile(
    rf"(?P<asks>how many|which|what) (?:different |available |separate )?(?P<noun>{_FILE_NOUNS}) (?:does|do) "
    r"(?:the )?(?P<folder>`[\w./-]{1,200}`|[\w.-]*/[\w./-]{0,200}|[\w.-]{1,100}(?= (?:folder|directory)))"
    r"(?: (?:folder|directory|dir))? (?:have|contain|hold|include|ship)\s*\??(?P<direct>)",
    re.IGNORECASE,
)
"""A directory as the subject: "how many modules does src/ contain"."""
_SOURCES = (
    ".py", ".js", ".mjs", ".ts", ".rs", ".hs", ".nim", ".erl", ".ex", ".lua", ".ml", ".pm", ".jl", ".rb", ".elm", ".fs",
    ".d", ".f90", ".go", ".java", ".kt", ".swift", ".php", ".cs", ".scala", ".zig", ".cr", ".clj", ".dart", ".cpp",
)  # fmt: skip
"""Endings of source files, of which a directory of modules has one."""


def read_parts(text: str, paths: QuestionPaths) -> FactRequest | None:
    """Read a question for things that have a file or a directory each; None for another one."""
    return _read_file_each(text, paths) or _read_without_folder(text, paths)


def _read_file_each(text: str, paths: QuestionPaths) -> FactRequest | None:
    """Read a question for things of a directory that usually have a file each: "which plugins are in lib/plugins"."""
    match = _FILE_EACH.fullmatch(text.strip()) or _FOLDER_HAS.fullmatch(text.strip())
    scope = None if match is None else paths.find(f"{match['folder'].strip('`/')}/")
    if match is None or scope is None or scope.is_file or not _is_folder_of(match["folder"], match["noun"]):
        return None

    is_list = not match["asks"].lower().startswith(("how", "the"))
    if match["direct"]:
        # Only files of one language: what else is in the directory isn't what the noun means.
        direct = [paths.find(f"{scope.glob}*{ending}") for ending in _SOURCES]
        sources = [files for files in direct if files is not None and not scope.glob.startswith("**")]
        return (
            FactRequest("files", paths=(sources[0],), is_list=is_list) if len(sources) == 1 else FactRequest("unknown")
        )

    is_of_files = re.search(r"\bfiles\b", match[0], re.IGNORECASE) is not None
    return FactRequest("files", paths=(scope,), is_list=is_list, subject="" if is_of_files else match["noun"].lower())


_SHORT_FORMS = {"comma": "cmd", "packa": "pkg", "appli": "app"}
"""Short forms of words in names of directories, by the beginnings of the words."""


def _is_folder_of(folder: str, noun: str) -> bool:
    """Return whether a directory is called as the things in it: `lib/reel` has other files than filters, too."""
    stem = noun.lower().replace("-", "").rstrip("s")[:5].removesuffix("i")
    return stem == "modul" or any(name in folder.lower() for name in (stem, _SHORT_FORMS.get(stem, stem)))


_MANY = re.compile(
    r"\W*(?:how many|(?:what(?:'s| is) )?the (?:total )?number of)\s+(?P<rest>.{1,200}?)\W*", re.IGNORECASE
)
_GRAMMAR_TEXT = """
are is there does do did it we they i you this that the a an in of to by for with from at all have has having include
includes included contain contains ship ships shipped come comes coming bundle bundles bundled provide provides provided
offer offers offered exist exists available built built-in builtin out box default total here overall so far can could
choose pick use get got repo repository project package app tool library code codebase program itself altogether
currently now ever already also along different distinct separate various individual supplied own its our me us consist
consists be been being keep kept checked tracked stored carry carries chart cli server framework gem crate
"""
_GRAMMAR = frozenset(_GRAMMAR_TEXT.split())
_PLAIN_ADJECTIVES = frozenset(["colour", "color", "default", "standard", "official", "ready-made", "sample", "code"])
"""Adjectives that leave nothing out of the things."""
_NAMES_OF: dict[str, Sequence[str]] = {
    "theme": ("themes", "theme"), "plugin": ("plugins",), "example": ("examples", "example"),
    "sample": ("samples", "sample"), "demo": ("demos",), "rule": ("rules",), "lint": ("lints",), "schema": ("schemas",),
    "transport": ("transports",), "adapter": ("adapters", "adapter"), "backend": ("backends",), "driver": ("drivers",),
    "migration": ("migrations", "migrate"), "template": ("templates",), "fixture": ("fixtures",),
    "provider": ("providers",), "module": ("modules",), "middleware": ("middleware", "middlewares"),
    "formatter": ("formatters", "formatter"), "reporter": ("reporters",), "snippet": ("snippets",),
    "benchmark": ("benchmarks", "benches", "benchmark"), "recipe": ("recipes",), "role": ("roles",),
    "playbook": ("playbooks",), "icon": ("icons",), "exporter": ("exporters",), "cop": ("cops", "cop"),
    "preset": ("presets",), "policy": ("policies",), "dashboard": ("dashboards",), "colorscheme": ("colors", "themes"),
    "color scheme": ("colors", "themes", "colorschemes"), "colour scheme": ("colors", "themes", "colorschemes"),
    "crd": ("crds",), "custom resource definition": ("crds",), "chart": ("charts",), "crate": ("crates",),
    "package": ("packages",), "app": ("apps",), "extension": ("extensions",), "hook": ("hooks",),
    "component": ("components",), "widget": ("widgets",), "integration": ("integrations",), "matcher": ("matchers",),
    "serializer": ("serializers",), "validator": ("validators",), "filter": ("filters",), "check": ("checks",),
    "keymap": ("keymaps",), "strategy": ("strategies",), "decorator": ("decorators",), "locale": (), "translation": (),
    "localization": (), "localisation": (), "language": (), "stage": ("stages",), "lesson": ("lessons",),
    "exercise": ("exercises",), "tutorial": ("tutorials",), "prompt": ("prompts",), "skill": ("skills",),
    "member": (), "subproject": (),
}  # fmt: skip
"""Names of the directories of things, in lower case and without signs."""
_NOUN = re.compile(
    r"(?P<noun>"
    + "|".join(
        rf"{re.escape(name[:-1])}(?:y|ies)" if name.endswith("y") else rf"{re.escape(name)}s?"
        for name in sorted(_NAMES_OF, key=len, reverse=True)
    )
    + r")(?P<after> (?:files|projects|apps|applications|programs|directories|folders|scripts|configs?|modules))?",
    re.IGNORECASE,
)
_TRANSLATIONS = frozenset(
    ["i18n", "locale", "locales", "lang", "langs", "languages", "translations", "po", "l10n", "intl", "localization"]
)
_OF_TRANSLATION = frozenset(["locale", "translation", "localization", "localisation", "language"])
_TRANSLATED_TEXT = """
translated into localized localised ui interface website docs documentation messages site app text strings available
user been speak speaks
"""
_TRANSLATED = frozenset(_TRANSLATED_TEXT.split())
_LISTED = {
    "member": "members", "workspace member": "members", "maven module": "modules", "gradle module": "modules",
    "gradle subproject": "modules", "subproject": "modules", "module": "modules", "chart": "charts",
    "helm chart": "charts", "crate": "crates",
}  # fmt: skip
"""Parts of a project that its build lists, or that have a manifest each."""
_OF_BUILD_TEXT = """
cargo workspace maven gradle root parent pom pom.xml cargo.toml settings settings.gradle list lists listed declare
declares declared member helm build top-level main top go npm yarn
"""
_OF_BUILD = frozenset(_OF_BUILD_TEXT.split())
_BESIDE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures?|vendor|third[_-]?party|node_modules|docs?|examples?|samples?"
    r"|benchmarks?|e2e|dist|build|target)(?:/|$)",
    re.IGNORECASE,
)
"""Directories whose things aren't those of the project itself."""


def _read_without_folder(text: str, paths: QuestionPaths) -> FactRequest | None:
    """Read a question that names no directory: the only one that is called as the things has them."""
    match = _MANY.fullmatch(text.strip())
    if match is None or not paths.is_one_repository():
        return None

    words = match["rest"].lower().replace("`", "").split()
    # The last of consecutive nouns: "lint rules" are rules.
    nouns = [(index, _NOUN.match(" ".join(words[index:]) + " ")) for index in range(min(3, len(words)))]
    matches = [(index, noun_match) for index, noun_match in nouns if noun_match is not None]
    if not matches:
        return None

    head, noun_match = matches[0]
    for index, next_match in matches[1:]:
        head, noun_match = (index, next_match) if index == head + 1 else (head, noun_match)
    noun = noun_match["noun"].lower()
    noun = noun if noun in _NAMES_OF else singular(noun)
    width = len(noun_match[0].split())
    remaining = [word.strip(".,") for word in words[head + width :]]
    adjectives = words[:head]
    unknown = [word for word in remaining if word not in _GRAMMAR]
    if noun in _OF_TRANSLATION:
        return _read_translations(noun, adjectives, unknown, paths)

    of_build = _read_listed(noun, adjectives, unknown)
    folder = _folder_of(noun, adjectives, unknown, paths)
    if folder is None:
        return of_build
    return FactRequest("files", paths=(folder,), subject=f"{noun}s", relation="inferred")


def _read_listed(noun: str, adjectives: Sequence[str], unknown: Sequence[str]) -> FactRequest | None:
    """Read a question for the parts that a build lists, such as the members of a workspace."""
    name = " ".join([*(word for word in adjectives if word not in {"different", "separate"}), noun])
    subject = _LISTED.get(name) or _LISTED.get(noun)
    is_of_build = all(word in _OF_BUILD for word in (*adjectives, *unknown))
    # "How many modules does it have" may mean files: only a build has others.
    is_sure = noun != "module" or any(word in _OF_BUILD for word in (*adjectives, *unknown))
    return FactRequest("parts", subject=subject) if subject and is_of_build and is_sure else None


def _folder_of(noun: str, adjectives: Sequence[str], unknown: Sequence[str], paths: QuestionPaths) -> PathScope | None:
    """Return the only directory of things; its path explains the words that are no grammar."""
    adjectives = [word for word in adjectives if word not in _GRAMMAR | _PLAIN_ADJECTIVES]
    names = set(_NAMES_OF.get(noun, ()))
    if adjectives:
        name = "".join([*adjectives, noun])
        names |= {f"{name}s", *(f"{word}s" for word in adjectives)}

    is_beside = noun in {"example", "sample", "demo", "fixture", "benchmark"}
    folders = [
        folder for folder in paths.folders_called(frozenset(names)) if is_beside or _BESIDE.search(folder) is None
    ]
    explained = [
        folder
        for folder in folders
        if all(_explains(folder, word) for word in unknown)
        and all(_explains(folder, word) or _is_ending(folder, word, paths) for word in adjectives)
    ]
    top = [folder for folder in explained if "/" not in folder]
    candidates = top if is_beside and len(top) == 1 else explained
    # One within another is a part of it.
    outer = [folder for folder in candidates if not any(folder.startswith(f"{other}/") for other in candidates)]
    return paths.find(f"{outer[0]}/") if len(outer) == 1 else None


def _explains(folder: str, word: str) -> bool:
    """Return whether the path of a directory has a word, with or without its last letter of a plural."""
    stem = re.sub(r"[-_.]", "", word.lower()).removesuffix("s")
    return len(stem) > 1 and stem in re.sub(r"[-_.]", "", folder.lower())


def _is_ending(folder: str, word: str, paths: QuestionPaths) -> bool:
    return re.fullmatch(r"\w{1,8}", word) is not None and paths.find(f"{folder}/*.{word}") is not None


def _read_translations(
    noun: str, adjectives: Sequence[str], unknown: Sequence[str], paths: QuestionPaths
) -> FactRequest | None:
    """Read a question for the languages into which something is translated."""
    words = [*adjectives, *unknown]
    is_translated = noun != "language" or any(
        word.startswith(("translat", "locali", "ui", "interface")) for word in words
    )
    if not is_translated or any(word not in _TRANSLATED | _GRAMMAR for word in words):
        return None

    folders = [folder for folder in paths.folders_called(_TRANSLATIONS) if _BESIDE.search(folder) is None]
    top = [folder for folder in folders if "/" not in folder]
    outer = top or [folder for folder in folders if not any(folder.startswith(f"{other}/") for other in folders)]
    scope = paths.find(f"{outer[0]}/") if len(outer) == 1 else None
    if scope is None:
        return None
    return FactRequest("files", paths=(scope,), subject="translations", relation="inferred")
