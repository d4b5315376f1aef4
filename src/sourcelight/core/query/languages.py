"""Programming languages: their names, and which paths belong to them.

The table holds facts that GitHub's Linguist publishes (names, aliases, extensions, file names). A path may belong to
several languages (``.h``, ``.m``): the ``lang:`` filter accepts each of them, while a table shows one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from sourcelight.core.query.language_table import PREFERRED, TABLE


@dataclass(frozen=True, slots=True)
class ProgrammingLanguage:
    """One language; `extensions` are lower case with their dot, `filenames` are lower case."""

    name: str
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]
    filenames: tuple[str, ...]


def _read(table: str) -> dict[str, ProgrammingLanguage]:
    languages = {}
    for line in table.strip().splitlines():
        name, aliases, extensions, filenames = (part.strip() for part in line.split("|"))
        languages[name] = ProgrammingLanguage(
            name=name,
            aliases=tuple(aliases.lower().split()),
            extensions=tuple(f".{extension}" for extension in extensions.lower().split()),
            filenames=tuple(filenames.lower().split()),
        )

    return languages


def _languages_by(keys: Callable[[ProgrammingLanguage], tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the names of the languages that have each key, in the order of the table."""
    names: dict[str, list[str]] = {}
    for language in LANGUAGES.values():
        for key in dict.fromkeys(keys(language)):
            names.setdefault(key, []).append(language.name)

    return {key: tuple(values) for key, values in names.items()}


def _names_by_spelling() -> dict[str, str]:
    """Return the name of a language by each of its spellings, in lower case."""
    names: dict[str, str] = {}
    # Of two languages with one alias, the first of the table has it.
    for language in reversed(LANGUAGES.values()):
        lowered = language.name.lower()
        names.update(dict.fromkeys((*language.aliases, lowered.replace(" ", "-"), lowered), language.name))

    # A language's own name beats the alias of another one.
    return names | {name.lower(): name for name in LANGUAGES}


LANGUAGES: dict[str, ProgrammingLanguage] = _read(TABLE)
_BY_EXTENSION = _languages_by(lambda language: language.extensions)
_BY_FILENAME = _languages_by(lambda language: language.filenames)
_MAIN = {ending: PREFERRED.get(ending, names[0]) for ending, names in _BY_EXTENSION.items()}
"""The language that is shown for an ending."""

_MAIN_BY_FILENAME = {name: names[0] for name, names in _BY_FILENAME.items()}
_COMPOUND = frozenset("." + ending.rsplit(".", 1)[1] for ending in _BY_EXTENSION if ending.count(".") > 1)
"""Last parts of endings of two parts, such as ``.php`` of ``.blade.php``."""

_BY_NAME = _names_by_spelling()


def find_language(name: str) -> str | None:
    """Return the proper name of a language given by name or alias in any case, None when it is unknown."""
    return _BY_NAME.get(name.lower())


def names_and_aliases() -> tuple[str, ...]:
    """Return all spellings that `find_language` knows, in lower case."""
    return tuple(_BY_NAME)


def language_of(path: str) -> str:
    """Return the one language to show for `path`: the most common one; ``""`` when none is known."""
    base = path.rpartition("/")[2].lower()
    known_name = _MAIN_BY_FILENAME.get(base)
    if known_name is not None:
        return known_name

    stem, dot, last = base.rpartition(".")
    ending = dot + last

    # Endings of two parts, such as `.blade.php`, say more than their last part.
    if ending in _COMPOUND:
        compound = _MAIN.get("." + stem.rpartition(".")[2] + ending)
        if compound is not None:
            return compound

    return _MAIN.get(ending, "")


def languages_of(paths: Iterable[str]) -> list[str]:
    """Return `language_of` each path, in order; each distinct file ending is looked up once."""
    answers: list[str] = []
    by_ending: dict[str, str] = {}
    for path in paths:
        base = path[path.rfind("/") + 1 :]
        dot = base.rfind(".")
        key = base if dot < 0 else base[dot:]
        language = by_ending.get(key) if base not in by_ending else by_ending[base]
        if language is None:
            lowered = base.lower()
            language = language_of(lowered)
            special = lowered in _BY_FILENAME or key.lower() in _COMPOUND or dot < 0
            by_ending[base if special else key] = language
        # A whole name beats its ending: `CMakeLists.txt` is CMake, though `.txt` is text.
        elif key is not base and base.lower() in _BY_FILENAME:
            language = by_ending[base] = language_of(base)

        answers.append(language)

    return answers


def languages_of_path(path: str) -> tuple[str, ...]:
    """Return all languages whose ``lang:`` filter accepts `path`, in table order of their endings."""
    base = path.rpartition("/")[2].lower()
    names: dict[str, None] = dict.fromkeys(_BY_FILENAME.get(base, ()))
    position = base.find(".")
    while position >= 0:
        names.update(dict.fromkeys(_BY_EXTENSION.get(base[position:], ())))
        position = base.find(".", position + 1)
    return tuple(names)


@lru_cache(maxsize=256)
def path_regex(language: str) -> str:
    """Return the regular expression (RE2, any case) that the paths of `language` match, as ``lang:`` does.

    Parameters
    ----------
    language
        A proper name, as `find_language` returns it.

    Raises
    ------
    KeyError
        There is no such language.
    """
    entry = LANGUAGES[language]
    endings = [_escape(ending) + "$" for ending in entry.extensions]
    names = [f"(?:^|/){_escape(name)}$" for name in entry.filenames]
    return f"(?i:{'|'.join([*endings, *names])})"


def _escape(text: str) -> str:
    return re.sub(r"[.+]", r"\\\g<0>", text)
