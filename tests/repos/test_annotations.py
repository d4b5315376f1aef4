from pathlib import Path

import pytest

from sourcelight.core.errors import ConfigurationError
from sourcelight.repos import Catalog
from sourcelight.testing import make_repo

WHOLE = """
[repositories.app]
name = "team/app"
description = "Payments"
private = true
fork = true
archived = true
stars = 12
topics = ["payments", "go"]
url = "https://git.example.org/team/app"
metadata = { team = "checkout", reviewed = true }

[repositories."./deep/lib"]
stars = 3

[contexts.backend]
description = "Our services"
repositories = ["team/app"]

[contexts.rest]
query = "-repo:^team/"
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    make_repo(tmp_path / "app", {"a": "1"})
    make_repo(tmp_path / "deep" / "lib", {"a": "1"})
    return tmp_path


def test_annotations_apply_by_name_and_by_folder(two: Path) -> None:
    (two / "repos.toml").write_text(WHOLE)
    catalog = Catalog.open([two])
    app = catalog.get("team/app").info
    assert (app.description, app.private, app.fork, app.archived, app.stars) == ("Payments", True, True, True, 12)
    assert app.topics == ("payments", "go")
    assert app.metadata == {"team": "checkout", "reviewed": None}
    assert app.url == "https://git.example.org/team/app"
    assert catalog.get("lib").info.stars == 3
    assert catalog.contexts["backend"]["repositories"] == ["team/app"]
    assert catalog.warnings == ()


def test_the_file_stands_beside_a_given_repository_or_is_named(two: Path) -> None:
    (two / "repos.toml").write_text("[repositories.app]\nstars = 1\n")
    (two / "other.toml").write_text("[repositories.app]\nstars = 2\n")
    assert Catalog.open([two / "app"]).repositories[0].info.stars == 1
    assert Catalog.open([two], annotations=two / "other.toml").get("app").info.stars == 2
    with pytest.raises(ConfigurationError, match=r"absent\.toml: No such file"):
        Catalog.open([two], annotations=two / "absent.toml")


def test_a_file_further_down_is_not_read_and_named(two: Path) -> None:
    (two / "deep" / "repos.toml").write_text("[repositories.lib]\nstars = 1\n")
    catalog = Catalog.open([two])
    assert catalog.get("lib").info.stars == 0
    (warning,) = catalog.warnings
    assert warning == (
        f"{two / 'deep' / 'repos.toml'} is not read: settings of repositories belong in {two / 'repos.toml'}"
    )
    assert Catalog.open([two, two / "deep"]).warnings == ()
    assert Catalog.open([two / "deep"]).get("lib").info.stars == 1


def test_a_bare_repository_stays_private_under_the_name_of_its_directory(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "work" / "app", {"a": "1"})
    for name in ("one", "two"):
        app.clone(tmp_path / "served" / name / "repo", "--bare")
    (tmp_path / "served" / "repos.toml").write_text("[repositories.repo]\nprivate = true\n")
    catalog = Catalog.open([tmp_path / "served"])
    assert {r.name: r.info.private for r in catalog.repositories} == {"one": True, "two": True}


def test_a_file_of_that_name_inside_a_repository_is_content(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"repos.toml": "[repositories.app]\nname = 'other'\nx"})
    assert Catalog.open([tmp_path / "app"]).repositories[0].name == "app"


def test_what_describes_nothing_is_said(two: Path) -> None:
    (two / "repos.toml").write_text("[repositories.absent]\nstars = 1\n")
    assert "'absent'" in Catalog.open([two]).warnings[0]


def test_a_repository_opened_alone_is_no_reason_to_warn_of_others(two: Path) -> None:
    """Each command for one sample repository began with six warnings about the others."""
    (two / "repos.toml").write_text("[repositories.absent]\nstars = 1\n[repositories.app]\nstars = 2\n")
    catalog = Catalog.open([two / "app"])
    assert (catalog.warnings, catalog.repositories[0].info.stars) == ((), 2)
    assert "'absent'" in Catalog.open([two, two / "app"]).warnings[0]
    assert "'absent'" in Catalog.open([two / "app"], annotations=two / "repos.toml").warnings[0]


def test_a_name_given_twice_is_told_apart(two: Path) -> None:
    (two / "repos.toml").write_text('[repositories.lib]\nname = "app"\n')
    catalog = Catalog.open([two])
    assert [r.name for r in catalog.repositories] == ["app", "app (lib)"]
    assert "both named app" in catalog.warnings[0]


@pytest.mark.parametrize(
    ("text", "line", "accepted"),
    [
        ("x = 1\n", 1, "accepted: repositories, contexts"),
        ("[repositories.app]\nstars = 1\nforked = true\n", 3, "accepted: name, description"),
        ("[repositories.a]\nstars = 1\n[repositories.app]\n\nstars = 'many'\n", 5, "a whole number"),
        ("[repositories.app]\nfork = 1\n", 2, "true or false"),
        ("[repositories.app]\nstars = true\n", 2, "a whole number"),
        ("[repositories.app]\nstars = -1\n", 2, "a whole number"),
        ("[repositories.app]\nname = ''\n", 2, "a string"),
        ('[repositories.app]\nname = "a\\u001bb"\n', 2, "a string"),
        ("[repositories.app]\ntopics = 'go'\n", 2, "a list of strings"),
        ("[repositories.app]\ntopics = [1]\n", 2, "a list of strings"),
        ("[repositories.app]\nmetadata = { a = 1 }\n", 2, "a table of strings"),
        ("[repositories]\napp = 1\n", 2, "must be a table"),
        ("repositories = 1\n", 1, "must contain tables"),
        ("[contexts.a]\n", 1, "needs either repositories or query"),
        ("[contexts.a]\nquery = 'x'\nrepositories = []\n", 1, "needs either repositories or query"),
        ("[contexts.a]\nquery = 1\n", 2, "a string"),
        ("[repositories.app]\nstars = \n", 2, "not TOML"),
    ],
)
def test_a_fault_names_its_line_and_what_is_accepted(two: Path, text: str, line: int, accepted: str) -> None:
    (two / "repos.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Catalog.open([two])
    assert accepted in str(caught.value)
    assert f"line {line}" in str(caught.value)


def test_a_file_that_is_not_utf8_is_refused(two: Path) -> None:
    (two / "repos.toml").write_bytes(b"# \xff\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        Catalog.open([two])


def test_a_changed_file_is_noticed_and_a_broken_one_keeps_the_former_settings(two: Path) -> None:
    file = two / "repos.toml"
    catalog = Catalog.open([two])
    file.write_text("[repositories.app]\nprivate = true\n")
    assert catalog.refresh()
    assert catalog.get("app").info.private
    file.write_text("[repositories.app]\nprivate = 1\n")
    assert catalog.refresh()
    assert catalog.get("app").info.private
    assert "the former settings stay in force" in catalog.warnings[-1]
    file.unlink()
    assert catalog.refresh()
    assert not catalog.get("app").info.private
    assert catalog.warnings == ()
