"""Languages by name, by path and as a regular expression."""

import time

import pytest
import re2

from sourcelight.core.query.languages import (
    LANGUAGES,
    find_language,
    language_of,
    languages_of,
    languages_of_path,
    path_regex,
)

SHOWN = {
    "src/main.go": "Go",
    "SRC/MAIN.GO": "Go",
    "a/b/Dockerfile": "Dockerfile",
    "dockerfile": "Dockerfile",
    "x.py": "Python",
    "x.pyi": "Python",
    "a.h": "C",
    "a.hpp": "C++",
    "a.m": "Objective-C",
    "a.ts": "TypeScript",
    "a.d.ts": "TypeScript",
    "a.tsx": "TSX",
    "a.jsx": "JavaScript",
    "a.rs": "Rust",
    "a.cs": "C#",
    "a.sql": "SQL",
    "a.md": "Markdown",
    "a.yml": "YAML",
    "a.json": "JSON",
    "a.html": "HTML",
    "a.xml": "XML",
    "a.pl": "Perl",
    "a.r": "R",
    "a.kt": "Kotlin",
    "a.tf": "Terraform",
    "a.txt": "Text",
    "a.sh": "Shell",
    "a.proto": "Protocol Buffer",
    "a.ipynb": "Jupyter Notebook",
    "view.blade.php": "Blade",
    "index.html.erb": "HTML+ERB",
    "build.gradle": "Gradle",
    "go.mod": "Go Module",
    "Makefile": "Makefile",
    "sub/CMakeLists.txt": "CMake",
    "Cargo.lock": "TOML",
    ".gitignore": "Ignore List",
    "Gemfile": "Ruby",
    "a.rst": "reStructuredText",
    "LICENSE": "Text",
    "a.unknown": "",
    "": "",
    "dir.py/file": "",
    "noextension": "",
    "trailing.": "",
}


@pytest.mark.parametrize(("path", "language"), SHOWN.items())
def test_a_path_has_one_language_to_show(path: str, language: str) -> None:
    assert language_of(path) == language
    assert languages_of_path(path)[:1] == () if not language else language in languages_of_path(path)


@pytest.mark.clock
def test_many_paths_at_once_are_the_same_as_one_by_one_and_fast() -> None:
    paths = [path for path in SHOWN for _ in range(2300)]
    assert len(paths) > 100_000
    start = time.process_time()
    result = languages_of(paths)
    assert time.process_time() - start < 2
    assert result == [language_of(path) for path in paths]
    assert languages_of(reversed(list(SHOWN))) == list(reversed(SHOWN.values()))


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("go", "Go"),
        ("GOLANG", "Go"),
        ("c++", "C++"),
        ("cpp", "C++"),
        ("C#", "C#"),
        ("js", "JavaScript"),
        ("Emacs Lisp", "Emacs Lisp"),
        ("emacs-lisp", "Emacs Lisp"),
        ("bash", "Shell"),
        ("terraform", "Terraform"),
        ("viml", "Vim Script"),
        ("nope", None),
        ("", None),
    ],
)
def test_a_language_is_found_by_name_and_alias_in_any_case(name: str, language: str | None) -> None:
    assert find_language(name) == language


def test_every_language_finds_itself_and_its_own_paths() -> None:
    assert len(LANGUAGES) > 400
    for name, item in LANGUAGES.items():
        assert find_language(name) == name
        regex = re2.compile(path_regex(name))
        examples = [f"dir/x{ending}" for ending in item.extensions] + [f"dir/{part}" for part in item.filenames]
        assert examples, name
        for path in examples:
            assert regex.search(path.upper()), path
            assert name in languages_of_path(path), path
            assert language_of(path), path


def test_ambiguous_paths_belong_to_several_languages() -> None:
    assert {"C", "C++", "Objective-C"} <= set(languages_of_path("a.h"))
    assert {"MATLAB", "Objective-C"} <= set(languages_of_path("a.m"))
    assert {"Blade", "PHP"} <= set(languages_of_path("a.blade.php"))
