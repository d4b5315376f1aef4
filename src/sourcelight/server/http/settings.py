"""Site configuration: a JSON file and an environment variable, read and checked once at the start.

The file is one JSON object with dotted keys, such as ``{"auth.public": true}``. An unknown key or an invalid value
stops the start with the file, the line and the accepted values: ignoring a setting is worse than not starting.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from sourcelight.core.answer_size import MAX_TOKENS, MIN_TOKENS
from sourcelight.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sourcelight.core.wire.encode import ChunkText

DISABLE_DEEPSEARCH = "SRC_MCP_DISABLE_DEEPSEARCH_TOOL"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]{1,5})?", re.IGNORECASE)
_BLANK = re.compile(r"[ \t\r\n]*")

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=[ \t\r\n]*[}\]])')
_VISIBLE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a service; the defaults fit a service that only its owner uses.

    Parameters
    ----------
    external_url
        ``externalURL``: the address at which readers reach the service, without a final ``/``. Empty: the address it
        binds to.
    auth_public
        ``auth.public``: whether anyone may search the repositories that are not private. Default False.
    diff_match_type
        ``search.diffMatchType``: ``diff`` or ``commit``, the type of diff matches for every client. Empty: ``commit``
        for clients that don't support ``diff`` (`sourcelight.server.http.requests`), else ``diff``.
    chunk_text
        ``search.chunkText``: the fields that carry the text of a chunk: ``both``, ``context`` or ``content``.
    max_timeout_s
        ``search.limits.maxTimeoutSeconds``: longest search, in seconds, 1 to 86400. Longer timeouts are capped.
    analyses_enabled
        ``analyses.enabled``: whether clients may ask for analyses, such as blame and ownership. Default True.
    max_analysis_s
        ``analyses.limits.maxTimeoutSeconds``: longest analysis, in seconds, 1 to 86400; a longer one is stopped.
    max_file_size_bytes
        ``search.maxFileSize``: largest file whose text is searched, in bytes. Larger ones match by name only.
    mcp_enabled
        ``mcp.enabled``: whether there are MCP endpoints. Default True.
    mcp_tools_disabled
        ``mcp.tools.disabled``: names of tools that no MCP endpoint has.
    mcp_default_max_tokens
        ``mcp.defaultMaxTokens``: maximum tokens of an MCP answer if the call has no limit; the rest is counted and can
        be read with a cursor. None: only the limits of each tool.
    mcp_structured_content
        ``mcp.structuredContent``: whether MCP answers have structured content beside their text. Default True.
    mcp_allowed_origins
        ``mcp.allowedOrigins``: origins of web pages that may call the MCP endpoints, beside the service's own.
    deepsearch_tool_disabled
        The environment's ``SRC_MCP_DISABLE_DEEPSEARCH_TOOL``: whether the tool ``deepsearch`` is absent from
        ``/.api/mcp`` and ``/.api/mcp/v1``.
    dynamic_client_registration
        ``auth.idpDynamicClientRegistrationEnabled``: whether OAuth clients may register themselves, and registered ones
        may sign in. Default True; False while `mcp_enabled` is False: see `registers_clients`.
    device_sign_in
        ``auth.deviceAuthorizationEnabled``: whether command-line clients may sign in by device authorization
        (RFC 8628). Default True.
    deepsearch_sharing
        ``deepSearch.sharing.enabled``: whether owners of deep search conversations may share them by link. Default
        True; while it is False, shared conversations are closed to others.
    deepsearch_model
        ``deepSearch.model``: name of the model that answers questions; empty for answers without a model.
    trusted_proxies
        ``service.trustedProxies``: addresses or networks of proxies whose ``X-Forwarded-For`` is used as the address of
        the client.
    reader_timeout_s
        ``service.readerTimeoutSeconds``: seconds for which a reader may take no byte before its connection is closed.
    credential_uses_bytes, credential_uses_files
        ``service.credentialUses.maxFileBytes`` and ``service.credentialUses.maxFiles``: size in bytes at which the log
        of credential uses starts a new file, and the number of earlier files that are kept.
    default_visibility
        ``defaultVisibility``: ``private`` or ``public``, for repositories that no `repos.toml` mentions. Empty: private
        below a directory in which anything is or was private, else public.
    trusted_paths
        ``repositories.trustedPaths``: absolute paths outside the served directories that repositories may read objects
        from, and that links in the served folders may lead to.
    metrics_public
        ``metrics.public``: whether anyone who reaches the service may read ``/metrics``; else its owner and
        administrators. Default False.
    log_format
        ``service.logFormat``: ``text``, or ``json`` for one JSON object in each line of the log.
    log_queries
        ``service.logQueries``: whether the access log has the text of queries and questions. Default False.
    set_names
        Names that the file or the environment sets.
    """

    external_url: str = ""
    auth_public: bool = False
    diff_match_type: Literal["", "diff", "commit"] = ""
    chunk_text: ChunkText = "both"
    max_timeout_s: int = 60
    analyses_enabled: bool = True
    max_analysis_s: int = 600
    max_file_size_bytes: int = 2 * 1024 * 1024
    mcp_enabled: bool = True
    dynamic_client_registration: bool = True
    device_sign_in: bool = True
    mcp_tools_disabled: tuple[str, ...] = ()
    mcp_default_max_tokens: int | None = None
    mcp_structured_content: bool = True
    mcp_allowed_origins: tuple[str, ...] = ()
    deepsearch_sharing: bool = True
    deepsearch_model: str = ""
    deepsearch_tool_disabled: bool = False
    trusted_proxies: tuple[str, ...] = ()
    reader_timeout_s: int = 60
    credential_uses_bytes: int = 16 << 20
    credential_uses_files: int = 9
    default_visibility: Literal["", "private", "public"] = ""
    trusted_paths: tuple[str, ...] = ()
    metrics_public: bool = False
    log_format: Literal["text", "json"] = "text"
    log_queries: bool = False
    set_names: frozenset[str] = field(default_factory=frozenset)

    @property
    def registers_clients(self) -> bool:
        """Whether OAuth clients may register themselves."""
        return self.mcp_enabled and self.dynamic_client_registration

    @property
    def unknown_tools(self) -> tuple[str, ...]:
        """Names in `mcp_tools_disabled` that no tool has: of other releases, or misspelled."""
        from sourcelight.core.tools.catalog import mcp_tools

        return tuple(sorted(set(self.mcp_tools_disabled).difference(mcp_tools("all"))))

    @property
    def unserved(self) -> tuple[str, ...]:
        """Names of settings for features that this version doesn't have."""
        return tuple(
            sorted(name for name in self.set_names if name != DISABLE_DEEPSEARCH and not SETTING_KEYS[name].served)
        )


@dataclass(frozen=True, slots=True)
class _SettingKey:
    attribute: str
    accepted: str
    read: Callable[[Any], Any]
    served: bool = True

    @property
    def accepted_text(self) -> str:
        """The accepted values, for a message."""
        if "{tools}" not in self.accepted:
            return self.accepted
        # Loaded late: a service reads its settings before it has the definitions of tools.
        from sourcelight.core.tools.catalog import mcp_tools

        return self.accepted.format(tools=", ".join(sorted(mcp_tools("all"))))


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole_number(minimum: int, maximum: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        # bool is an int in Python, but not in JSON.
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise TypeError
        return value

    return read


def _choice(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise TypeError
        return value

    return read


def _tool_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return tuple(value)


def _origins(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and _ORIGIN.fullmatch(item) for item in value):
        raise TypeError
    return tuple(item.lower() for item in value)


def _networks(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(network, str) for network in value):
        raise TypeError
    # Raises ValueError for an address with host bits, such as 10.0.0.1/8, which is nearly always a mistake.
    return tuple(str(ipaddress.ip_network(network)) for network in value)


def _paths(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(path, str) and _is_absolute(path) for path in value):
        raise TypeError
    return tuple(value)


def _is_absolute(path: str) -> bool:
    return "\0" not in path and Path(path).is_absolute()


def _address(value: Any) -> str:
    text = _text(value)
    parts = urlsplit(text)
    clean = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not clean:
        raise ValueError

    _ = parts.port  # raises ValueError if the port isn't a number
    # Paths are appended with a slash, and two in a row would be another address.
    return text.rstrip("/")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


SETTING_KEYS: dict[str, _SettingKey] = {
    "analyses.enabled": _SettingKey("analyses_enabled", "true or false", _boolean),
    "analyses.limits.maxTimeoutSeconds": _SettingKey(
        "max_analysis_s", "a whole number of seconds from 1 to 86400", _whole_number(1, 86_400)
    ),
    "auth.deviceAuthorizationEnabled": _SettingKey("device_sign_in", "true or false", _boolean),
    "auth.idpDynamicClientRegistrationEnabled": _SettingKey("dynamic_client_registration", "true or false", _boolean),
    "auth.public": _SettingKey("auth_public", "true or false", _boolean),
    "defaultVisibility": _SettingKey("default_visibility", '"private" or "public"', _choice("private", "public")),
    "deepSearch.model": _SettingKey("deepsearch_model", "text: the name of a model", _text),
    "deepSearch.sharing.enabled": _SettingKey("deepsearch_sharing", "true or false", _boolean),
    "externalURL": _SettingKey(
        "external_url",
        'an http:// or https:// address without user, query or fragment, such as "https://code.example.com"',
        _address,
    ),
    "mcp.enabled": _SettingKey("mcp_enabled", "true or false", _boolean),
    "mcp.tools.disabled": _SettingKey("mcp_tools_disabled", "a list of tool names out of {tools}", _tool_names),
    "mcp.defaultMaxTokens": _SettingKey(
        "mcp_default_max_tokens",
        f"a whole number of tokens from {MIN_TOKENS} to {MAX_TOKENS}",
        _whole_number(MIN_TOKENS, MAX_TOKENS),
    ),
    "mcp.structuredContent": _SettingKey("mcp_structured_content", "true or false", _boolean),
    "mcp.allowedOrigins": _SettingKey(
        "mcp_allowed_origins", 'a list of origins, such as ["https://chat.example.com"]', _origins
    ),
    "metrics.public": _SettingKey("metrics_public", "true or false", _boolean),
    "repositories.trustedPaths": _SettingKey("trusted_paths", "a list of absolute paths", _paths),
    "search.chunkText": _SettingKey(
        "chunk_text", '"both", "context" or "content"', _choice("both", "context", "content")
    ),
    "search.diffMatchType": _SettingKey("diff_match_type", '"diff" or "commit"', _choice("diff", "commit")),
    "search.limits.maxTimeoutSeconds": _SettingKey(
        "max_timeout_s", "a whole number of seconds from 1 to 86400", _whole_number(1, 86_400)
    ),
    "search.maxFileSize": _SettingKey(
        "max_file_size_bytes", "a whole number of bytes from 1 to 1073741824", _whole_number(1, 1 << 30)
    ),
    "service.credentialUses.maxFileBytes": _SettingKey(
        "credential_uses_bytes", "a whole number of bytes from 65536 to 1073741824", _whole_number(1 << 16, 1 << 30)
    ),
    "service.credentialUses.maxFiles": _SettingKey(
        "credential_uses_files", "a whole number from 1 to 1000", _whole_number(1, 1_000)
    ),
    "service.logFormat": _SettingKey("log_format", '"text" or "json"', _choice("text", "json")),
    "service.logQueries": _SettingKey("log_queries", "true or false", _boolean),
    "service.readerTimeoutSeconds": _SettingKey(
        "reader_timeout_s", "a whole number of seconds from 1 to 3600", _whole_number(1, 3_600)
    ),
    "service.trustedProxies": _SettingKey(
        "trusted_proxies", 'a list of addresses or networks, such as ["127.0.0.1", "10.0.0.0/8"]', _networks
    ),
}


def load_settings(path: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the configuration file at `path` (None: no file) and the environment.

    Parameters
    ----------
    path
        A JSON file in UTF-8.
    environ
        Environment variables; None: none.

    Raises
    ------
    ConfigurationError
        When the file can't be read, isn't JSON, or has an unknown key, a repeated key, or an invalid value; the message
        names file, line, key and the accepted values.

    Examples
    --------
    >>> load_settings().max_timeout_s
    60
    """
    values: dict[str, Any] = {}
    set_names: set[str] = set()
    if path is not None:
        for name, value, line in _read_file(path):
            location = f"{path}:{line}"
            key = SETTING_KEYS.get(name)
            if key is None:
                raise ConfigurationError(f"{location}: unknown setting {name!r}; accepted: {', '.join(SETTING_KEYS)}")

            # JSON takes the last of two equal keys silently; an operator who edits the first would wonder.
            if name in set_names:
                raise ConfigurationError(f"{location}: {name} is set twice; keep one")

            try:
                values[key.attribute] = key.read(value)
            except (TypeError, ValueError):
                text = json.dumps(value, ensure_ascii=False)
                excerpt = text if len(text) <= 80 else text[:77] + "..."
                raise ConfigurationError(f"{location}: {name} must be {key.accepted_text}, got {excerpt}") from None

            set_names.add(name)

    word = (environ or {}).get(DISABLE_DEEPSEARCH, "")
    if word:
        if word.lower() not in {"true", "1", "false", "0"}:
            raise ConfigurationError(f"{DISABLE_DEEPSEARCH} must be true or false, got {word!r}")
        values["deepsearch_tool_disabled"] = word.lower() in {"true", "1"}
        set_names.add(DISABLE_DEEPSEARCH)

    return Settings(**values, set_names=frozenset(set_names))


def _read_file(path: str) -> list[tuple[str, Any, int]]:
    try:
        # Editors on Windows write a byte order mark, which JSON doesn't allow.
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigurationError(f"{path}: can't be read: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"{path}: not UTF-8 text (byte {exc.start}); save the file as UTF-8") from exc

    try:
        text = without_comments(text)
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as exc:
        raise ConfigurationError(
            f"{path}:{exc.lineno}: not JSON: {exc.msg} (column {exc.colno}); write one JSON object"
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigurationError(f"{path}:1: not JSON: {exc}") from exc

    if not isinstance(value, dict):
        raise ConfigurationError(f'{path}:1: not a JSON object; write an object such as {{"auth.public": true}}')

    # Read a second time for the line of each setting, which `json` doesn't give.
    return _members(text)


def without_comments(text: str) -> str:
    """Return JSON with blanks for comments (``//``, ``/* */``) and for the comma after a last item.

    Lines and columns stay the same. Other deviations from JSON stay errors.
    """

    def blank(match: re.Match[str]) -> str:
        # Strings are matched too, so that `//` inside an address isn't taken for a comment.
        return match[0] if match[0].startswith('"') else _VISIBLE.sub(" ", match[0])

    return _LAST_COMMA.sub(blank, _COMMENT.sub(blank, text))


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


def _members(text: str) -> list[tuple[str, Any, int]]:
    """Return key, value and 1-based line of each member of the valid JSON object in `text`."""
    decoder = json.JSONDecoder()
    members = []
    position = _past_blank(text, 0) + 1
    while text[position := _past_blank(text, position)] != "}":
        if text[position] == ",":
            position = _past_blank(text, position + 1)
        line = text.count("\n", 0, position) + 1
        name, position = decoder.raw_decode(text, position)
        position = _past_blank(text, _past_blank(text, position) + 1)
        value, position = decoder.raw_decode(text, position)
        members.append((name, value, line))

    return members


def _past_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
