import json
from pathlib import Path

import pytest

from server.served import serving
from sourcelight.core.errors import ConfigurationError
from sourcelight.server.http.settings import DISABLE_DEEPSEARCH, Settings, load_settings
from sourcelight.testing import RepositoryBuilder


def _file(folder: Path, text: str) -> str:
    path = folder / "site.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_a_file_the_defaults_hold() -> None:
    assert load_settings() == Settings()
    assert load_settings(None, {}).unserved == ()


def test_every_setting_is_read(tmp_path: Path) -> None:
    arguments = {
        "mcp.enabled": False,
        "auth.idpDynamicClientRegistrationEnabled": False,
        "externalURL": "https://code.example.com/",
        "auth.public": True,
        "search.diffMatchType": "commit",
        "mcp.tools.disabled": ["deepsearch"],
        "deepSearch.sharing.enabled": False,
        "deepSearch.model": "m",
        "search.limits.maxTimeoutSeconds": 90,
        "search.maxFileSize": 1000,
        "search.chunkText": "content",
    }
    settings = load_settings(_file(tmp_path, json.dumps(arguments)), {DISABLE_DEEPSEARCH: "true"})
    assert settings.external_url == "https://code.example.com"
    assert (settings.auth_public, settings.diff_match_type, settings.chunk_text) == (True, "commit", "content")
    assert (settings.max_timeout_s, settings.max_file_size_bytes) == (90, 1000)
    assert (settings.mcp_enabled, settings.dynamic_client_registration) == (False, False)
    assert (settings.mcp_tools_disabled, settings.deepsearch_sharing) == (("deepsearch",), False)
    assert (settings.deepsearch_model, settings.deepsearch_tool_disabled) == ("m", True)
    assert settings.set_names == {*arguments, DISABLE_DEEPSEARCH}
    assert settings.unserved == ()


def test_comments_and_a_last_comma_are_taken(tmp_path: Path) -> None:
    text = """// who may search
    {
      "externalURL": "https://code.example.com//x/*y*/", /* not, a: comment {in} the text
      of two lines */
      "deepSearch.model": "a // b, }",
      "mcp.tools.disabled": ["nls_search", "serch",],  // one of them is no tool
      "mcp.allowedOrigins": ["https://Chat.example.com"],
    }"""
    settings = load_settings(_file(tmp_path, text))
    assert settings.external_url == "https://code.example.com//x/*y*"
    assert settings.deepsearch_model == "a // b, }"
    assert settings.mcp_tools_disabled == ("nls_search", "serch")
    assert settings.unknown_tools == ("serch",)
    assert settings.mcp_allowed_origins == ("https://chat.example.com",)
    with pytest.raises(ConfigurationError, match=r":3: unknown setting 'b'"):
        load_settings(_file(tmp_path, '// one\n/* two */\n{"b": 1}'))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{\n"auth.publik": true\n}', 2, ("unknown setting 'auth.publik'", "auth.public", "search.chunkText")),
        ('{\n\n"auth.public": "yes"}', 3, ("auth.public", "true or false")),
        ('{"mcp": {"enabled": true}}', 1, ("unknown setting 'mcp'", "mcp.enabled")),
        ('{"auth.public": true,,\n}', 2, ("not JSON",)),
        ('{"externalURL": "https://a//b" // no\n"auth.public": true}', 2, ("not JSON",)),
        ("{\n/* open\n}", 2, ("not JSON",)),
        ("[]", 1, ("not a JSON object",)),
        ("", 1, ("not JSON",)),
        ('{"search.maxFileSize": NaN}', 1, ("NaN",)),
        ('{"search.maxFileSize": true}', 1, ("a whole number",)),
        ('{"search.maxFileSize": 0}', 1, ("from 1 to",)),
        ('{"search.maxFileSize": 1.5}', 1, ("a whole number",)),
        ('{"search.limits.maxTimeoutSeconds":\n -1}', 1, ("from 1 to 86400",)),
        ('{"search.diffMatchType": "Diff"}', 1, ('"diff" or "commit"',)),
        ('{"search.chunkText": "none"}', 1, ('"both", "context" or "content"',)),
        ('{"mcp.tools.disabled": [1]}', 1, ("keyword_search",)),
        ('{"mcp.allowedOrigins": ["chat.example.com"]}', 1, ("https://chat.example.com",)),
        ('{"mcp.tools.disabled": "all"}', 1, ("a list of tool names",)),
        ('{"externalURL": "code.example.com"}', 1, ("https://",)),
        ('{"externalURL": "https://u:p@h/"}', 1, ("without user",)),
        ('{"externalURL": "https://h:99999/"}', 1, ("https://",)),
        ('{"deepSearch.model": null}', 1, ("text",)),
        ('{"auth.public": true,\n "auth.public": false}', 2, ("set twice",)),
        ("[" * 100_000, 1, ("not JSON",)),
    ],
)
def test_what_is_not_understood_stops_with_file_line_and_accepted_values(
    tmp_path: Path, text: str, line: int, words: tuple[str, ...]
) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(ConfigurationError) as error:
        load_settings(path)
    message = str(error.value)
    assert message.startswith(f"{path}:{line}: ")
    for word in words:
        assert word in message


def test_a_file_that_is_absent_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.json: can't be read"):
        load_settings(str(tmp_path / "absent.json"))
    (tmp_path / "b.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_settings(str(tmp_path / "b.json"))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(b'\xef\xbb\xbf{"auth.public": true}')
    assert load_settings(str(tmp_path / "b.json")).auth_public


@pytest.mark.parametrize(("word", "expected"), [("true", True), ("0", False), ("FALSE", False), ("", False)])
def test_the_environment_disables_the_deepsearch_tool(word: str, *, expected: bool) -> None:
    assert load_settings(None, {DISABLE_DEEPSEARCH: word}).deepsearch_tool_disabled is expected


def test_the_environment_is_checked_too() -> None:
    with pytest.raises(ConfigurationError, match="must be true or false"):
        load_settings(None, {DISABLE_DEEPSEARCH: "maybe"})


def test_a_name_that_is_no_tool_is_a_warning_at_the_start(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "lamp").commit({"lamp.py": "lamp\n"})
    config = _file(tmp_path, '{"mcp.tools.disabled": ["nls_search", "serch"]}')
    folder, pattern = str(tmp_path / "src"), r"mcp\.tools\.disabled names '(\w+)', which isn't a tool of this version"
    with serving(folder, "--config", str(config), home=tmp_path / "home", token="t" * 20, pattern=pattern) as (_, name):
        assert name == "serch"
