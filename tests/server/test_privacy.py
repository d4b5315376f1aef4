"""What is private stays private: whatever becomes of `repos.toml`, of names, of clones and of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import StateError
from sourcelight.repos import Catalog, ObjectReader, ServicePolicy, Viewer
from sourcelight.repos.state import FILE_NAME, State
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder, make_repo

SECRET = "git.example.org/acme/payments"
OPEN = "git.example.org/acme/web"
SECRET_TEXT = "needle of the payments"
OPEN_TEXT = "needle of the web"
SETTINGS = f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{OPEN}"]\nprivate = false\n'


class World:
    """Two repositories, a `repos.toml`, and a service over them that can be started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.file = self.root / "repos.toml"
        self.secret = make_repo(self.root / "pay", {"a.txt": SECRET_TEXT + "\n"}, origin=f"https://{SECRET}.git")
        self.web = make_repo(self.root / "web", {"a.txt": OPEN_TEXT + "\n"}, origin=f"https://{OPEN}.git")
        self.file.write_text(SETTINGS)
        self.state = State(str(folder / FILE_NAME))
        self.state.accounts.create("ann")
        self.token = self.state.tokens.create("ann")[1]
        self.service: Service

    @contextmanager
    def served(self, settings: Settings | None = None, *, with_policy: bool = True) -> Iterator[World]:
        selected = settings or Settings()
        policy = ServicePolicy(self.state.repositories, selected.default_visibility, selected.trusted_paths)
        engine = open_engine([self.root], index=self.folder / "index", policy=policy if with_policy else None)
        try:
            with running(engine, selected, state=self.state) as service:
                self.service = service
                self.engine = engine
                yield self
        finally:
            engine.close()

    def seen(self, query: str = "needle count:all timeout:20s") -> str:
        """What a search of ann answers, after a look at everything."""
        self.engine.catalog.refresh(thorough=True)
        headers = {"Authorization": f"token {self.token}"}
        with httpx2.Client(
            base_url=self.service.url, headers=headers, timeout=30, trust_env=False, verify=TLS
        ) as client:
            return client.get("/.api/search/stream", params={"q": query, "v": "V3"}).text

    def open_catalog(self) -> Catalog:
        """What a service opens, without an index and without a port."""
        return Catalog.open(self.root, policy=ServicePolicy(self.state.repositories))


def text_for(catalog: Catalog, viewer: Viewer) -> str:
    """Names and text of all that exists for `viewer`, after a look at everything."""
    catalog.refresh(thorough=True)
    texts = []
    for repository in catalog.visible(viewer):
        with ObjectReader(repository) as reader:
            tree = reader.tree(repository.info.commit)
            texts += [repository.name, *((reader.read(tree.blob_id(n)) or b"").decode() for n in range(len(tree)))]
    return "\n".join(texts)


ANN = Viewer("ann", sees_private=False)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    with world.state:
        yield world


def assert_private(text: str) -> None:
    assert SECRET_TEXT not in text
    assert SECRET not in text
    assert OPEN_TEXT in text


def remove(world: World) -> None:
    world.file.unlink()


def empty(world: World) -> None:
    world.file.write_text("")


def comment_alone(world: World) -> None:
    world.file.write_text("# to be written\n")


def half_written(world: World) -> None:
    world.file.write_text(SETTINGS[: SETTINGS.index("= true")])


def well_formed_half(world: World) -> None:
    """TOML is whole after each line: a half need not be faulty."""
    world.file.write_text(f'[repositories."{OPEN}"]\nprivate = false\n')


def other_type(world: World) -> None:
    world.file.write_text(SETTINGS.replace("true", '"yes"'))


def not_utf8(world: World) -> None:
    world.file.write_bytes(b"\xff\xfe" + SETTINGS.encode("utf-16-le"))


def without_key(world: World) -> None:
    world.file.write_text(SETTINGS.replace("private = true", "stars = 1"))


def public_default(world: World) -> None:
    world.file.write_text(f'defaultVisibility = "public"\n[repositories."{OPEN}"]\nstars = 1\n')


def other_case_in_remote(world: World) -> None:
    world.secret.git("remote", "set-url", "origin", "git@GIT.example.org:Acme/Payments.GIT")


def other_remote(world: World) -> None:
    world.secret.git("remote", "set-url", "origin", "https://elsewhere.example.org/new/name")


def no_remote(world: World) -> None:
    world.secret.git("remote", "remove", "origin")


def second_clone(world: World) -> None:
    world.secret.git("clone", "-q", ".", str(world.root / "a-second"))
    RepositoryBuilder(world.root / "a-second").git("remote", "set-url", "origin", f"ssh://git@{SECRET}/")


def second_clone_of_other_case(world: World) -> None:
    second_clone(world)
    clone = RepositoryBuilder(world.root / "a-second")
    clone.git("remote", "set-url", "origin", "https://Git.Example.org./ACME/payments.git")


def second_clone_and_no_file(world: World) -> None:
    remove(world)
    second_clone(world)


def moved(world: World) -> None:
    """The clone stands at a new place; where it was private there is nothing any more."""
    (world.root / "pay").rename(world.root / "b-pay")


def moved_without_remote(world: World) -> None:
    no_remote(world)
    moved(world)


HARMS: list[Callable[[World], None]] = [
    remove, empty, comment_alone, half_written, well_formed_half, other_type, not_utf8, without_key, public_default,
    other_case_in_remote, other_remote, no_remote, second_clone, second_clone_of_other_case, second_clone_and_no_file,
    moved, moved_without_remote,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_private_stays_private_while_the_service_runs_and_after_a_restart(
    world: World, harm: Callable[[World], None]
) -> None:
    catalog = world.open_catalog()
    assert_private(text_for(catalog, ANN))
    harm(world)
    assert_private(text_for(catalog, ANN))
    assert SECRET_TEXT in text_for(catalog, Viewer.owner())
    assert_private(text_for(world.open_catalog(), ANN))


@pytest.mark.parametrize("harm", [remove, half_written, other_case_in_remote, second_clone])
def test_an_engine_that_was_opened_without_a_policy_is_closed_by_the_service(
    world: World, harm: Callable[[World], None]
) -> None:
    with world.served(with_policy=False):
        assert_private(world.seen())
        harm(world)
        assert_private(world.seen())


@pytest.mark.parametrize("harm", [remove, half_written, second_clone_and_no_file])
def test_what_happens_while_the_service_is_down_opens_nothing(world: World, harm: Callable[[World], None]) -> None:
    assert_private(text_for(world.open_catalog(), ANN))
    harm(world)
    with world.served():
        assert_private(world.seen())
        response = world.service.client.get("/readyz")
        assert (response.status_code, "previous settings" in response.text) == (200, True)
        assert str(world.root) not in response.text


def test_held_settings_are_told_and_a_whole_file_ends_that(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with world.served():
        assert world.service.client.get("/readyz").text == "ready\n"
        remove(world)
        world.seen()
        assert "the former settings stay in force" in caplog.text
        assert "previous settings" in world.service.client.get("/readyz").text
        assert "the former settings stay in force" in world.engine.catalog.warnings[-1]
        world.file.write_text(SETTINGS.replace("true", "false"))
        assert SECRET_TEXT in world.seen()
        assert world.service.client.get("/readyz").text == "ready\n"


def test_only_a_decision_makes_public_what_was_private(world: World) -> None:
    catalog = world.open_catalog()
    without_key(world)
    assert_private(text_for(catalog, ANN))
    world.file.write_text(SETTINGS.replace("true", "false"))
    assert SECRET_TEXT in text_for(catalog, ANN)
    world.file.write_text(SETTINGS)
    assert_private(text_for(catalog, ANN))


def test_new_repositories_beside_a_private_one_wait_for_a_decision(world: World) -> None:
    catalog = world.open_catalog()
    make_repo(world.root / "new", {"a.txt": "needle of the new\n"})
    assert "needle of the new" not in text_for(catalog, ANN)
    assert any("without a decision" in warning and "new" in warning for warning in catalog.warnings)
    world.file.write_text(SETTINGS + "[repositories.new]\nprivate = false\n")
    assert "needle of the new" in text_for(catalog, ANN)


def test_what_calls_itself_like_a_public_repository_is_not_public_for_that(world: World) -> None:
    catalog = world.open_catalog()
    make_repo(world.root / "a-fork", {"a.txt": "needle of the fork\n"}, origin=f"https://{OPEN}")
    text = text_for(catalog, ANN)
    assert_private(text)
    assert "needle of the fork" not in text


def test_a_known_private_repository_that_takes_a_public_name_stays_private(world: World) -> None:
    world.file.write_text(f'defaultVisibility = "private"\n[repositories."{OPEN}"]\nprivate = false\n')
    with world.served():
        assert OPEN_TEXT in world.seen()
        world.secret.git("remote", "set-url", "origin", f"https://{OPEN}.git")
        assert SECRET_TEXT not in world.seen()
        assert OPEN_TEXT in world.seen()
    with world.served():
        assert SECRET_TEXT not in world.seen()


@pytest.mark.parametrize("source", ["repos.toml", "configuration"])
def test_a_default_decides_for_new_repositories(world: World, source: str) -> None:
    if source == "repos.toml":
        world.file.write_text('defaultVisibility = "public"\n' + SETTINGS)
    policy = ServicePolicy(world.state.repositories, "" if source == "repos.toml" else "public")
    catalog = Catalog.open(world.root, policy=policy)
    make_repo(world.root / "new", {"a.txt": "needle of the new\n"})
    text = text_for(catalog, ANN)
    assert_private(text)
    assert "needle of the new" in text


def test_a_private_default_holds_for_all_without_a_decision(world: World) -> None:
    world.file.write_text('defaultVisibility = "private"\n')
    catalog = Catalog.open(world.root, policy=ServicePolicy(world.state.repositories, "public"))
    assert text_for(catalog, ANN) == ""


def test_where_nothing_is_private_new_repositories_are_public(world: World) -> None:
    remove(world)
    catalog = world.open_catalog()
    make_repo(world.root / "new", {"a.txt": "needle of the new\n"})
    text = text_for(catalog, ANN)
    assert all(item in text for item in (SECRET_TEXT, OPEN_TEXT, "needle of the new"))


def test_what_is_known_stays_public_when_the_first_one_becomes_private(world: World) -> None:
    remove(world)
    catalog = world.open_catalog()
    assert SECRET_TEXT in text_for(catalog, ANN)
    world.file.write_text(f'[repositories."{SECRET}"]\nprivate = true\n')
    assert_private(text_for(catalog, ANN))


def test_another_repository_in_the_place_of_a_public_one_needs_a_decision(world: World) -> None:
    world.file.write_text(f'[repositories."{SECRET}"]\nprivate = true\n')
    docs = make_repo(world.root / "docs", {"a.txt": "docs\n"}, origin="https://git.example.org/acme/docs")
    remove(world)
    catalog = world.open_catalog()
    world.file.write_text(SETTINGS)
    assert "docs" in text_for(catalog, ANN)
    docs.git("remote", "set-url", "origin", "https://git.example.org/acme/plans")
    docs.commit({"a.txt": "plans\n"})
    assert "plans" not in text_for(catalog, ANN)


def test_a_service_without_private_repositories_asks_for_no_decision(world: World) -> None:
    remove(world)
    assert world.open_catalog().warnings == ()


def test_somebody_who_searches_their_own_files_gets_what_the_file_says_now(world: World) -> None:
    catalog = Catalog.open(world.root)
    assert catalog.get(SECRET).info.private
    remove(world)
    make_repo(world.root / "new", {"a.txt": "1\n"})
    assert catalog.refresh()
    assert [repository.info.private for repository in catalog.repositories] == [False, False, False]
    assert catalog.warnings == ()


def test_no_search_sees_a_private_repository_while_its_settings_are_written(world: World) -> None:
    """300 rewrites, as editors and scripts do them: cut to nothing, then written in pieces."""
    leaks: list[str] = []
    answers = 0
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(300):
                with world.file.open("w") as file:
                    for line in SETTINGS.splitlines(keepends=True):
                        file.write(line)
                        file.flush()
                if number % 50 == 0:
                    world.file.unlink()
                    done.wait(0.01)
                done.wait(0.005)
        finally:
            done.set()

    with world.served():
        writer = threading.Thread(target=write)
        writer.start()
        headers = {"Authorization": f"token {world.token}"}
        with httpx2.Client(
            base_url=world.service.url, headers=headers, timeout=30, trust_env=False, verify=TLS
        ) as client:
            while not done.is_set() or answers < 150:
                text = client.get("/.api/search/stream", params={"q": "needle count:all", "v": "V3"}).text
                answers += 1
                if SECRET_TEXT in text or SECRET in text:
                    leaks.append(text)
        writer.join(30)
    assert answers >= 150
    assert leaks == []


# Grants hang on places


def grant(world: World) -> None:
    world.state.grants.add(SECRET, account="ann")


def test_a_grant_leads_to_the_place_that_was_meant_and_not_to_its_name(world: World) -> None:
    with world.served():
        grant(world)
        assert SECRET_TEXT in world.seen()
        mallory = make_repo(
            world.root / "a-mallory", {"a.txt": "needle of mallory\n"}, origin=f"https://{SECRET.upper()}.git"
        )
        text = world.seen(f"repo:^{SECRET}$ needle count:all")
        assert SECRET_TEXT in text
        assert "needle of mallory" not in text
        assert world.engine.catalog.get(SECRET).canonical_path == str(world.secret.path)
        (warning,) = [item for item in world.engine.catalog.warnings if "both named" in item]
        assert str(mallory.path) in warning
        assert str(world.secret.path) in warning
    # After a restart, with the true one gone for a while, the name is still its own.
    world.secret.path.rename(world.folder / "aside")
    with world.served():
        assert "needle of mallory" not in world.seen()
        assert SECRET not in [repository.name for repository in world.engine.catalog.repositories]
        (world.folder / "aside").rename(world.secret.path)
        assert SECRET_TEXT in world.seen(f"repo:^{SECRET}$ needle count:all")


def test_a_grant_by_a_name_that_several_claim_is_refused(world: World) -> None:
    second_clone(world)
    with world.served():
        with pytest.raises(StateError, match="several directories claim"):
            grant(world)
        assert_private(world.seen())
        world.state.grants.add(str(world.secret.path), account="ann")
        text = world.seen()
        assert SECRET_TEXT in text
        assert "a-second" not in text


def test_a_grant_by_a_name_that_nobody_has_goes_to_no_later_claimant(world: World) -> None:
    with world.served():
        world.state.grants.add("git.example.org/acme/later", account="ann")
        world.file.write_text(SETTINGS + '[repositories."git.example.org/acme/later"]\nprivate = true\n')
        make_repo(world.root / "late", {"a.txt": "needle of later\n"}, origin="https://git.example.org/acme/later")
        assert "needle of later" not in world.seen()
        assert "git.example.org/acme/later" in [r.name for r in world.engine.catalog.repositories]


def test_a_folder_can_be_granted_before_a_service_has_seen_it(world: World) -> None:
    world.state.grants.add(str(world.secret.path), account="ann")
    with world.served():
        assert SECRET_TEXT in world.seen()
    assert [(item.repository, item.canonical_path) for item in world.state.grants.all()] == [
        (SECRET, str(world.secret.path))
    ]


def test_grants_of_an_earlier_version_are_tied_to_places_at_the_next_start(world: World) -> None:
    grant(world)
    assert [item.canonical_path for item in world.state.grants.all()] == [""]
    with world.served():
        assert SECRET_TEXT in world.seen()
    assert [item.canonical_path for item in world.state.grants.all()] == [str(world.secret.path)]


def test_an_operator_passes_names_on(world: World) -> None:
    with world.served():
        grant(world)
    world.secret.path.rename(world.root / "moved")
    world.state.repositories.move(str(world.secret.path), str(world.root / "moved"))
    with world.served():
        assert SECRET_TEXT in world.seen(f"repo:^{SECRET}$ needle count:all")
    world.state.repositories.forget(str(world.root / "moved"))
    with world.served():
        assert_private(world.seen())
