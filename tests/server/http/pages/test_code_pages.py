"""Pages of files, directories, comparisons and names without a browser: against git, and with hostile names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from git_output import git
from server.http.pages.test_search_page import acting_parts, get, text_of
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import ServicePolicy, Viewer
from sourcelight.repos.state import State
from sourcelight.server.http.pages.code.directory import Directory, DirectoryParts, Part, directory_page
from sourcelight.server.http.pages.code.readme import readme_html, readme_path
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder

NAME, SECRET = "example.org/acme/web", "example.org/acme/payments"
ACT = "<img src=x onerror=alert(1)>"
EVE = f"Eve {ACT} <eve@example.org>"
README = f"""# Web

<p align="center"><img src="http://evil.example/x.png" onerror="alert(1)">A *lamp*</p>

[the code](src/lamp.py#L1) [a form](./data.bin) [away](https://example.org/a_b) [out](../../etc/passwd)
[act](javascript:alert(1)) [host](//evil.example/x) [here](#web) {ACT} ![shot](shot.png)
"""
CODE = f'def lamp():\n    """{ACT}"""\n    return 1\n\n\nprint(lamp())\n'


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    folder = tmp_path_factory.mktemp("code")
    web = RepositoryBuilder(folder / "web", origin=f"https://{NAME}.git")
    web.commit({"src/lamp.py": CODE, "README.md": README, "data.bin": "a\0b\0cdefg"}, "begin")
    web.commit({"src/lamp.py": CODE.replace("return 1", "return 2")}, f"change {ACT}", author=EVE)
    RepositoryBuilder(folder / "pay", origin=f"https://{SECRET}.git").commit({"b.py": "secret = 1\n"}, "pay")
    (folder / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{NAME}"]\nprivate = false\n'
    )
    return web


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    with State() as state:
        yield state


@pytest.fixture(scope="module")
def engine(repository: RepositoryBuilder, state: State) -> Iterator[LocalEngine]:
    folder = repository.path.parent
    policy = ServicePolicy(state.repositories, "", ())
    engine = open_engine([folder], index=folder / "index", policy=policy, workers=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def service(engine: LocalEngine, state: State) -> Iterator[Service]:
    with running(engine, Settings(auth_public=True), state=state) as service:
        yield service


def test_blame_names_the_commit_of_each_line(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"/{NAME}/-/blob/src/lamp.py?L2-3&blame=1").text
    porcelain = git(repository.path, "blame", "--line-porcelain", "HEAD", "--", "src/lamp.py")
    commits = re.findall(r"^([0-9a-f]{40}) \d+ (\d+)", porcelain, re.MULTILINE)
    commit_by_line, last = {}, ""
    for number, cell in re.findall(r'<tr id="L(\d+)".*?<td class="blame">(.*?)</td>', page):
        last = (re.findall(r"/-/commit/([0-9a-f]{40})", cell) or [last])[0]
        commit_by_line[number] = last
    assert commit_by_line == {number: commit for commit, number in commits}
    history = text_of(page.partition("Commits of the highlighted lines")[2])
    assert "begin" in history
    assert f"change {ACT}" in history
    assert 'class="blame"' not in get(service, f"/{NAME}/-/blob/src/lamp.py").text


def test_the_history_of_lines_is_that_of_git_log(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"/{NAME}/-/blob/src/lamp.py", lines="3-3", history="1").text
    history = page.partition("History of the highlighted lines")[2].partition("</ul>")[0]
    log = git(repository.path, "log", "-s", "--format=%H", "-L3,3:src/lamp.py")
    assert re.findall(r"/-/commit/([0-9a-f]{40})", history) == log.split()
    assert len(log.split()) == 2
    assert f"change {ACT}" in text_of(history)
    assert acting_parts(page) == ["script"]
    late_page = get(service, f"/{NAME}/-/blob/src/lamp.py", lines="99", history="1")
    assert late_page.status_code == 200
    assert "startLine is 99, but src/lamp.py has 6 lines" in late_page.text


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("blob/src/lamp.py?L2-3", "read_file('example.org/acme/web', 'src/lamp.py', start_line=2, end_line=3)"),
        ("blob/src/lamp.py?L2&blame=1", "blame('example.org/acme/web', 'src/lamp.py', start_line=2, end_line=2)"),
        (
            "blob/src/lamp.py?lines=2-3&history=1",
            "history_of('example.org/acme/web', path='src/lamp.py', start_line=2, end_line=3)",
        ),
        ("tree/src", "list_files('example.org/acme/web', 'src')"),
        ("commit/HEAD", "commit_details('example.org/acme/web', 'HEAD')"),
        ("compare/HEAD~1...HEAD", "compare_revisions('example.org/acme/web', 'HEAD~1', 'HEAD')"),
        ("symbol/src/lamp.py?name=lamp", "find_references('example.org/acme/web', 'src/lamp.py', 'lamp')"),
        (
            "symbol/src/lamp.py?name=lamp&line=6",
            "find_references('example.org/acme/web', 'src/lamp.py', 'lamp', line=6)",
        ),
    ],
)
def test_each_page_has_a_notebook_that_runs(service: Service, path: str, call: str) -> None:
    address = f"/{NAME}/-/{path}"
    link = re.search(r'<a href="([^"]+)">Open in a notebook', get(service, address).text)
    assert link is not None
    (cell,) = get(service, unescape(link[1])).json()["cells"]
    source = "".join(cell["source"])
    assert source.splitlines()[-1] == f"code.{call}"
    assert f"sl.connect('{service.url}')" in source
    names: dict[str, Any] = {"token": TOKEN}
    exec(source.replace("')  #", "', token=token)  #"), names)  # noqa: S102 - as its reader does
    names["code"].close()


def test_a_file_has_its_definitions_and_a_permalink(service: Service, repository: RepositoryBuilder) -> None:
    head = git(repository.path, "rev-parse", "HEAD").strip()
    page = get(service, f"/{NAME}/-/blob/src/lamp.py?L1").text
    assert f'href="/{NAME}@{head}/-/blob/src/lamp.py?L1-1">Permalink' in page
    assert re.search(rf'<a href="/{NAME}@{head}/-/blob/src/lamp.py\?L1"><code>lamp</code></a>', page)
    assert f"code.read_file('{NAME}', 'src/lamp.py', start_line=1, end_line=1, revision='{head}')" in unescape(page)
    before = get(service, f"/{NAME}@HEAD~1/-/blob/src/lamp.py")
    assert "return 1" in text_of(before.text)


def test_a_name_leads_to_its_definition_and_references(service: Service) -> None:
    page = get(service, f"/{NAME}/-/symbol/src/lamp.py", name="lamp").text
    definitions, references = page.split("<h2>References")
    assert re.findall(r"\?L(\d+)-", definitions) == ["1"]
    assert set(re.findall(r"\?L(\d+)-", references)) == {"1", "6"}
    assert "<mark>lamp</mark>" in definitions
    assert "by name" not in page  # the scopes of the file tell it
    assert get(service, f"/{NAME}/-/symbol/src/lamp.py", name="lamp", line="6").text.count("?L6-6") == 1
    odd = get(service, f"/{NAME}/-/symbol/src/lamp.py", name="lamp", line="-1; x").text
    assert odd.split("data-names")[1] == page.split("data-names")[1]
    absent = get(service, f"/{NAME}/-/symbol/src/lamp.py", name=ACT)
    assert absent.status_code == 200
    assert acting_parts(absent.text) == ["script"]


PARTS = {
    "changes": "README\\.md.*?begin",
    "readme": r"A \*lamp\*",
    "refs": "1 branch",
    "languages": "Python 1 file",
    "contributors": "Commits by year.*?2 commits",
    "owners": "Owners of lines.*?\\d+ lines?",
}


def test_a_directory_is_shown_at_once_and_what_takes_longer_has_a_link(
    service: Service, repository: RepositoryBuilder
) -> None:
    address = f"/{NAME}/-/tree/"
    first = get(service, address).text
    links = re.findall(r'<a href="([^"]+)" data-load>', first)
    assert links == [f"{address}?part={name}" for name in PARTS]
    for (name, pattern), link in zip(PARTS.items(), links, strict=True):
        assert not re.search(pattern, text_of(first), re.DOTALL), name
        page = get(service, unescape(link)).text
        assert re.search(pattern, text_of(page), re.DOTALL), name
        assert f'?part={name}" data-load' not in page
    # What was made once is there at once the next time, but for branches and tags, which move.
    second_page = get(service, address).text
    assert re.findall(r'<a href="([^"]+)" data-load>', second_page) == [f"{address}?part=refs"]
    assert "Eve img src=x onerror=alert(1)" in text_of(second_page)  # git takes the brackets out of names
    assert acting_parts(second_page) == ["script", "https://example.org/a_b"]  # the link of the README
    inner = get(service, f"/{NAME}/-/tree/src?part=changes").text
    assert f"change {ACT}" in text_of(inner)
    assert "Contributors" not in inner
    assert "Up one directory" in inner
    commit_ids = re.findall(r">src/</a></td><td><a href=\"[^\"]+/-/commit/([0-9a-f]{40})", second_page)
    assert commit_ids == [git(repository.path, "log", "-1", "--format=%H", "--", "src").strip()]


def test_a_readme_is_rendered_and_leads_to_files_of_its_commit(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"/{NAME}/-/tree/?part=readme").text
    head = git(repository.path, "rev-parse", "HEAD").strip()
    readme = page.split('<section class="readme"')[1].split("</section>")[0]
    assert "<h3>Web</h3>" in readme
    assert "<em>lamp</em>" not in readme  # no Markdown stands within a block of HTML
    assert re.findall(r'<a href="([^"]+)"( rel="[^"]+")?>([^<]+)</a>', readme) == [
        (f"/{NAME}@{head}/-/blob/README.md", "", "README.md"),
        (f"/{NAME}@{head}/-/blob/src/lamp.py", "", "the code"),
        (f"/{NAME}@{head}/-/blob/data.bin", "", "a form"),
        ("https://example.org/a_b", ' rel="noreferrer nofollow"', "away"),
        (f"/{NAME}@{head}/-/blob/shot.png", "", "shot"),
    ]
    assert "evil" not in readme
    for label in ("out", "act", "host", "here"):
        assert f">{label}<" not in readme
        assert label in text_of(readme)
    old = get(service, f"/{NAME}@HEAD~1/-/tree/?part=readme").text
    assert f"/{NAME}@{head}/" not in old.split('<section class="readme"')[1].split("</section>")[0]
    assert "readme" not in get(service, f"/{NAME}/-/tree/src").text


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (["readme.rst", "README.md", "README"], "README.md"),
        (["README.txt", "README"], "README"),
        (["Readme.markdown"], "Readme.markdown"),
        (["README.md.bak", "readme.html", "READMEs", "x/README.md/y"], None),
    ],
)
def test_the_readme_is_the_markdown_one(names: list[str], path: str | None) -> None:
    assert readme_path([{"path": name, "kind": "file"} for name in names]) == path
    assert readme_path([{"path": name, "kind": "link"} for name in names]) is None


def test_a_readme_of_any_size_or_depth_is_bounded() -> None:
    location = {"repository": NAME, "commit": "c" * 40, "path": "README.md"}
    for line in (
        "[" * 50_000,
        "> " * 20_000 + "x",
        "<!--" * 30_000,
        "<a" * 60_000,
        "|a" * 50_000 + "\n" + "|-" * 50_000,
    ):
        started = time.process_time()
        assert acting_parts(readme_html(line.split("\n"), location, "")) == []
        assert time.process_time() - started < 10
    text = readme_html(["<b>&amp;"] * 100_000, {**location, "path": "README.rst"}, "")
    assert text.startswith('<pre tabindex="0">&lt;b&gt;&amp;amp;')
    assert text.endswith("(truncated)</pre>")


def test_a_part_that_takes_too_long_can_be_asked_for_again(engine: LocalEngine) -> None:
    context = ToolContext(engine, Viewer.owner())
    directory = Directory(tools.call("list_files", {"repo": NAME}, context), "")
    late_context = replace(context, cancellation=Cancellation())
    late_context.cancellation.cancel()
    parts: dict[str, Part] = {}
    maker = DirectoryParts()
    for name in ("owners", "contributors", "changes"):
        parts |= maker.of(directory, name, late_context, 15.0)
    assert {part.is_late for part in parts.values()} == {True}
    page = bytes(directory_page(replace(directory, parts=parts), prefix="").body).decode()
    retry_links = re.findall(r'takes longer than 15 s\. <a href="([^"]+)" data-load>Try again', page)
    assert {address.partition("?part=")[2] for address in retry_links} == set(parts)
    assert maker.of(directory, "owners", context, 15.0)["owners"].rows


def test_addresses_of_the_other_kind_lead_on(service: Service, repository: RepositoryBuilder) -> None:
    head = git(repository.path, "rev-parse", "HEAD").strip()
    folder = get(service, f"/{NAME}/-/blob/src")
    assert (folder.status_code, folder.headers["location"]) == (302, f"/{NAME}@{head}/-/tree/src")
    file = get(service, f"/{NAME}/-/tree/src/lamp.py")
    assert (file.status_code, file.headers["location"]) == (302, f"/{NAME}@{head}/-/blob/src/lamp.py")
    for path in ("blob/src/absent.py", "tree/absent", "commit/absent", "blob/src/lamp.py/x"):
        answer = get(service, f"/{NAME}/-/{path}")
        assert answer.status_code == 404, path
        assert f'<a href="/{NAME}/-/tree/">All files of {NAME}</a>' in answer.text, path
    assert "absent.py" in text_of(get(service, f"/{NAME}/-/blob/src/absent.py").text)


def test_a_file_without_text_says_its_size(service: Service) -> None:
    page = get(service, f"/{NAME}/-/blob/data.bin")
    assert page.status_code == 200
    assert "This file is binary (9 B)" in text_of(page.text)


def test_the_history_of_a_file_is_that_of_git_log(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"/{NAME}/-/blob/src/lamp.py", lines="", history="1").text
    history = page.partition("History of the file")[2].partition("</ul>")[0]
    log = git(repository.path, "log", "--follow", "--format=%H", "--", "src/lamp.py").split()
    assert re.findall(r"/-/commit/([0-9a-f]{40})", history) == log


def test_two_revisions_are_compared_as_by_git(service: Service, repository: RepositoryBuilder) -> None:
    page = get(service, f"/{NAME}/-/compare/HEAD~1...HEAD").text
    changed = git(repository.path, "diff", "HEAD~1", "HEAD").splitlines()
    for line in changed:
        if line[:1] in "+-" and not line.startswith(("+++", "---")):
            assert line in text_of(page)
    assert text_of(get(service, f"/{NAME}/-/compare/", base="HEAD~1", head="HEAD").text) == text_of(page)
    commits = get(service, f"/{NAME}/-/compare/", base="HEAD~1", head="HEAD", part="commits").text
    section = commits.partition("<h2>Commits</h2>")[2].partition("</section>")[0]
    listing = git(repository.path, "rev-list", "HEAD~1..HEAD").split()
    assert re.findall(r"/-/commit/([0-9a-f]{40})", section) == listing
    assert "The files of both are the same." in get(service, f"/{NAME}/-/compare/HEAD...HEAD").text
    assert get(service, f"/{NAME}/-/compare/nothing...HEAD").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "blob/b.py",
        "blob/b.py?blame=1",
        "blob/b.py?lines=1&history=1",
        "blob/b.py?notebook=1",
        "tree/",
        "blob/b.py?part=outline",
        "tree/?part=owners",
        "tree/?part=refs",
        "compare/HEAD...HEAD",
        "compare/?base=HEAD&head=HEAD&part=commits",
        "symbol/b.py?name=secret",
    ],
)
def test_pages_of_a_private_repository_are_as_of_none(service: Service, path: str) -> None:
    # What a reader with access was shown is stored, for such readers alone.
    assert service.client.get(f"/{SECRET}/-/{path}").status_code == 200
    hidden, absent = (get(service, f"/{name}/-/{path}") for name in (SECRET, "example.org/acme/nothing"))
    assert hidden.status_code == absent.status_code
    assert hidden.text.replace("payments", "") == absent.text.replace("nothing", "")
    assert "secret = 1" not in hidden.text


def test_hostile_names_and_texts_stay_text(service: Service, repository: RepositoryBuilder) -> None:
    head = git(repository.path, "rev-parse", "HEAD").strip()
    branch = 'x"><img/src=x/onerror=alert(1)>'
    git(repository.path, "branch", branch, "HEAD~1")
    git(repository.path, "tag", "a@b", "HEAD")
    # A page has the part that it is asked for, and those made before.
    assert "Web" in get(service, f"/{NAME}/-/tree/?part=readme").text
    refs = get(service, f"/{NAME}/-/tree/?part=refs").text
    assert acting_parts(refs) == ["script", "https://example.org/a_b"]
    address = next(unescape(link) for link in re.findall(r'href="([^"]+)"', refs) if "onerror" in link)
    assert "return 1" in text_of(get(service, address.replace("/tree/", "/blob/src/lamp.py")).text)
    assert f'href="/{NAME}@{head}/-/tree/">a@b' in refs
    compared = get(service, f"/{NAME}/-/compare/", base=branch, head="HEAD", part="commits")
    assert compared.status_code == 200
    assert acting_parts(compared.text) == ["script"]
    git(repository.path, "branch", "-D", branch)
    for path in (
        f"/{NAME}/-/blob/src/lamp.py?blame=1", f"/{NAME}/-/tree/", f"/{NAME}/-/tree/src", f"/{NAME}/-/commit/{head}",
        f"/{NAME}/-/compare/HEAD~1...HEAD", f"/{NAME}/-/symbol/src/lamp.py?name=lamp",
    ):  # fmt: skip
        answer = get(service, path)
        assert answer.status_code == 200, path
        assert [part for part in acting_parts(answer.text) if part != "https://example.org/a_b"] == ["script"], path
        assert "unsafe" not in answer.headers["content-security-policy"]
