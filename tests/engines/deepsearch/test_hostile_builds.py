"""Manifests and enums that someone wrote to keep a question busy, and values that are secrets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import package_name, read_fields, read_requirements, read_runtime
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

MANY = 20_000


def _features() -> object:
    return read_fields("Cargo.toml", ["[features]", *(f"f{number} = []" for number in range(MANY))], "features")


def _catalog() -> object:
    return read_requirements(
        "gradle/libs.versions.toml", ["[libraries]", *(f'a{number} = "a:b:1"' for number in range(MANY))]
    )


def _scripts() -> object:
    members = ",\n".join(f'"s{number}": "x"' for number in range(MANY))
    return read_fields("package.json", f'{{"scripts": {{{members}}}}}'.split("\n"), "scripts")


def _frameworks() -> object:
    return read_fields("a.csproj", ["<TargetFramework>" + " " * 980] * 2_000, "frameworks")


def _runtime() -> object:
    return read_runtime("a.csproj", ["<TargetFramework>" + " " * 480] * 4_000, "dotnet")


def _artifact() -> object:
    return package_name("pom.xml", ["<artifactId>" + " " * 980] * 200)


def _plugins() -> object:
    return read_requirements("pom.xml", ["<plugin>", *["<version>" + " " * 480] * 2_000])


def _targets() -> object:
    return read_fields("Makefile", ["a " * 499] * 2_000, "target", "a")


@pytest.mark.parametrize("read", [_features, _catalog, _scripts, _frameworks, _runtime, _artifact, _plugins, _targets])
def test_a_manifest_takes_no_more_than_seconds(read: Callable[[], object]) -> None:
    started = time.process_time()
    read()
    assert time.process_time() - started < 3.0


def _engine(folder: Path, files: Mapping[str, str]) -> LocalEngine:
    repo = RepositoryBuilder(folder / "loom")
    repo.commit(dict(files), "Add it")
    return open_engine([repo.path], index=folder / "index", workers=1)


BODIES = {
    "a.java": "enum A " * 8_000,
    "b.java": "enum A {" + "[" * 50_000 + "}",
    "c.swift": "enum A {\n" + "@a \n" * 15_000 + "}",
    "d.c": "enum A " * 8_000 + "{ X };",
}


@pytest.mark.parametrize("path", BODIES)
def test_an_enum_takes_no_more_than_seconds(tmp_path: Path, path: str) -> None:
    engine = _engine(tmp_path, {path: BODIES[path]})
    started = time.process_time()
    research(engine, "What are the members of the enum A?")
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"config.yml": "port: 80\ndb_password: s3cr3t-value9\n"}, "What is db_password set to?"),
        ({"config.yml": "db_password: s3cr3t-value9\n"}, "What is the value of db_password in config.yml?"),
        ({"a.py": 'DB_PASSWORD = "s3cr3t-value9"\n'}, "What is DB_PASSWORD set to?"),
        ({"a.py": 'def login(password="s3cr3t-value9"):\n    pass\n'}, "What is the default of password in login?"),
        ({"a.go": 'package a\n\nconst ApiToken = "s3cr3t-value9"\n'}, "What is the value of ApiToken?"),
        ({"Dockerfile": "FROM a\nENV DB_PASSWORD=s3cr3t-value9\n"}, "What is DB_PASSWORD set to?"),
    ],
)
def test_a_secret_that_a_file_sets_is_not_stated(tmp_path: Path, files: Mapping[str, str], question: str) -> None:
    assert "s3cr3t-value9" not in research(_engine(tmp_path, files), question).text


def test_a_word_in_another_case_is_not_within_another_name(tmp_path: Path) -> None:
    engine = _engine(tmp_path, {"a.py": "import tide\n\nprint(gauge)\n"})
    assert "within other names" not in research(engine, "What parameters does `Gauge` take?").text
