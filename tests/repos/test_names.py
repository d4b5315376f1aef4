import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.repos.names import clean, name_from_folder, name_from_git_dir, name_from_origin, web_address

word = st.text(string.ascii_letters + string.digits + "_-", min_size=2, max_size=12).filter(lambda w: w[0] != "-")
host = st.builds("{}.{}".format, word, st.sampled_from(["org", "example.com", "io"]))
path = st.lists(word, min_size=1, max_size=4).map("/".join)
credential = st.text(string.ascii_letters + string.digits + "!$&'()*+,;=%._~-", min_size=6, max_size=20)


@given(host, path, credential, credential, st.integers(1, 65535))
def test_every_form_of_an_origin_gives_one_name(host: str, path: str, user: str, password: str, port: int) -> None:
    name = f"{host.lower()}/{path}"
    for url in (
        f"https://{host}/{path}",
        f"https://{host}/{path}.git",
        f"https://{host}/{path}/",
        f"http://{host}:{port}/{path}.git",
        f"https://{user}@{host}/{path}.git",
        f"https://{user}:{password}@{host}:{port}/{path}.git?token={password}#x",
        f"ssh://git@{host}:{port}/{path}.git",
        f"git+ssh://git@{host}/{path}",
        f"git://{host}/{path}.git",
        f"git@{host}:{path}.git",
        f"{host}:/{path}",
        f"HTTPS://{host.upper()}//{path}.git/",
    ):
        assert name_from_origin(url) == name
        assert web_address(url) == f"https://{name}"


@given(host, path, credential, st.text(max_size=20))
def test_no_credential_gets_into_a_name(host: str, path: str, user: str, password: str) -> None:
    for secret in (f"{user}:{password}", user):
        name = name_from_origin(f"https://{secret.replace('/', '')}@{host}/{path}")
        assert name in {"", f"{host.lower()}/{path}"} or "?" in secret or "#" in secret
        assert "@" not in name


@given(st.text(max_size=200))
def test_any_text_gives_a_name_that_can_be_shown(text: str) -> None:
    for name in (name_from_origin(text), name_from_folder(text), clean(text)):
        name.encode()
        assert not any(ord(c) < 33 or ord(c) == 127 for c in name)
    assert name_from_folder(text)


@pytest.mark.parametrize(
    "url",
    [
        "", "/srv/git/app.git",
        "file:///srv/git/app.git", "../app", "./app", "app", "C:\\git\\app", "C:/git/app", "~/app",
        "https://", "https:///x", "https://host", "https://host/", "ext::sh -c x", "host:", "host:/", "ftp", "a/b:c",
        "transport::address", "unknown://host/path",
    ],
)  # fmt: skip
def test_an_origin_without_a_host_gives_no_name(url: str) -> None:
    assert name_from_origin(url) == web_address(url) == ""


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@[::1]:team/app.git", "::1/team/app"),
        ("ssh://git@[2001:db8::1]:2222/team/app", "2001:db8::1/team/app"),
        ("https://dev.example.com/org/project/_git/repo", "dev.example.com/org/project/_git/repo"),
        ("https://host.org/a/../../etc/app", "host.org/a/etc/app"),
        ("https://host.org/with%20blank/%41pp", "host.org/with-blank/App"),
        ("https://host.org/a\u202eb\x1b[31m/c", "host.org/a\ufffdb\ufffd[31m/c"),
        ("https://host.org/.git", ""),
        ("work:app", "work/app"),
    ],
)
def test_odd_origins(url: str, name: str) -> None:
    assert name_from_origin(url) == name


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/src/app", "app"),
        ("/src/app/", "app"),
        ("/src/app.git", "app"),
        ("/src/app/.git", "app"),
        ("C:\\src\\app", "app"),
        ("/src/my app", "my-app"),
        ("/src/caf\udce9", "caf\ufffd"),
        ("/", "repository"),
        ("/src/.git", "src"),
    ],
)
def test_a_folder_gives_a_name(folder: str, name: str) -> None:
    assert name_from_folder(folder) == name


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/src/tornado/repo", "tornado"),
        ("/src/tornado/repo/", "tornado"),
        ("/src/tornado.git/Repository", "tornado"),
        ("/src/tornado/git/bare", "tornado"),
        ("C:\\src\\tornado\\repo", "tornado"),
        ("/src/repo.git", "repo"),
        ("/src/tornado", "tornado"),
        ("/repo", "repo"),
        ("repo", "repo"),
    ],
)
def test_a_bare_repository_is_named_by_a_directory_that_says_something(folder: str, name: str) -> None:
    assert name_from_git_dir(folder) == name
