"""Every block of code in the pages runs as it stands there, or is named with what stands for it."""

from __future__ import annotations

import gc
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import sourcelight as sl
from contract.test_signing_in import Person
from docs.snippets import NOT_RUN, PAGES, REFUSED, ROOT, Session, commands, snippets
from server.oauth.flow import Flow
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import open_engine
from sourcelight.cli import main
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos.state import ScryptCost, State

ELSEWHERE = {"marimo.md"}  # marimo runs its guide's in tests/frontends
WITH_CODE = [page for page in PAGES if page.name not in ELSEWHERE and any(snippets(page))]


@pytest.fixture(scope="module")
def service(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over the sample repositories."""
    engine = open_engine([fleet], index=tmp_path_factory.mktemp("service"), workers=1)
    with (
        State(cost=ScryptCost(2, 1, 1)) as state,
        closing(ConversationService(state)) as desk,
        running(engine, state=state, conversations=desk) as service,
    ):
        yield service.url


@pytest.fixture(scope="module")
def warm(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with repositories, and all indexes of them: what is missing, every page would build again."""
    home = tmp_path_factory.mktemp("user")
    for name in ("src", "samples"):
        (home / name).symlink_to(fleet)
    with sl.open(home / "samples", index_dir=home / ".sourcelight" / "index", background_index=False) as client:
        client.churn(by=["repository"])  # the histories
        client.search("type:symbol tide")  # the definitions
        client.nls_search("when is the tide high")  # the terms
    return home


@contextmanager
def session(home: Path, service: str, folder: Path) -> Iterator[Session]:
    """The session of one page, in a home of its own over an index that is there already."""
    session_home = folder / "home"
    session_home.mkdir()
    for name in ("src", "samples"):
        (session_home / name).symlink_to((home / name).resolve())
    shutil.copytree(home / ".sourcelight", session_home / ".sourcelight")
    (folder / "work").mkdir()
    listing = [f"file://{(home / 'samples').resolve() / name}" for name in ("hub", "pytide")]
    (folder / "work" / "repositories.txt").write_text("\n".join(listing) + "\n", encoding="utf-8")
    flow = Flow(service)
    replaced = {
        "https://host/owner/name": listing[0],
        "https://host": service,
        "http://127.0.0.1:7080": service,
        '"YOUR_TOKEN"': f'"{TOKEN}"',
        'token="…"': f'token="{TOKEN}"',
        "SRC_ACCESS_TOKEN=…": f"SRC_ACCESS_TOKEN={TOKEN}",
        "--list repositories.txt": "--list repositories.txt --allow-local",  # which are directories of this machine
        # What is ours there ends with the command: to unpack pip took eight seconds of a core.
        "-m venv .venv": "-m venv --without-pip .venv",
        "sign_in=True": "sign_in=True, open_browser=person, sign_in_timeout_s=20",
    }
    with pytest.MonkeyPatch.context() as patch, flow.browser, Person(flow, token=TOKEN) as person:
        patch.setenv("HOME", str(session_home))
        patch.setenv("SOURCELIGHT_HOME", str(session_home / ".sourcelight"))
        names = {"sl": sl, "person": person, "__name__": "page"}
        yield Session(folder / "work", session_home, replaced, names, {"SRC_ACCESS_TOKEN": TOKEN})
        for client in [value for value in names.values() if isinstance(value, sl.Client)]:
            client.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_runs(page: Path, warm: Path, service: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.IncompleteResultWarning)
        warnings.simplefilter("ignore", sl.RepeatedCommitsWarning)  # of the samples, one is a fork
        warnings.simplefilter("ignore", ResourceWarning)  # pages leave their clients to the end of the notebook
        with session(warm, service, tmp_path) as running:
            if "sourcelight admin" in page.read_text("utf-8"):
                assert main(["admin", "token", "create", "owner"]) == 0  # as the first start of a service does
            for snippet in snippets(page):
                with running.placed():
                    running.run(page, snippet)
        gc.collect()
    assert running.counts


def test_no_exception_is_listed_in_vain() -> None:
    """What is not run is in some page, and so are commands that are refused."""
    messages = [
        re.split(r"\s+#", command)[0]
        for page in WITH_CODE
        for snippet in snippets(page)
        if snippet.language in {"sh", "console"}
        for command in commands(snippet)
    ]
    for pattern in NOT_RUN:
        assert any(re.fullmatch(pattern, command) for command in messages), pattern
    assert set(REFUSED) <= set(messages)


def test_each_block_has_a_language() -> None:
    for page in PAGES:
        for snippet in snippets(page):
            assert snippet.language, f"{page.relative_to(ROOT)}:{snippet.line}"
            assert "\t" not in snippet.language


def test_pages_name_no_folder_of_a_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(work|tmp|root)/\w", page.read_text("utf-8")), page
    assert os.sep == "/" or PAGES
