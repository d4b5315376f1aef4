"""Replace secrets in text before it goes to a model's provider, into the store or onto a page.

Lines stay where they are, so that citations hold. What is searched for: formats that issuers document (cloud keys,
tokens with a prefix), private key blocks, values given to names such as ``password``, users in addresses, and long
random text next to such names.

What a log is told of a fault, where its own message may quote a question, an answer or code.

Frames around repository text that a model reads, so that it can't pass for instructions.
"""

from __future__ import annotations

import math
import re
import secrets
import traceback
from collections import Counter
from pathlib import PurePath

REDACTED = "[redacted]"

_MARKED = re.compile(
    r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b"  # AWS key ids
    r"|\bgh[pousr]_[0-9A-Za-z]{20,255}\b|\bgithub_pat_[0-9A-Za-z_]{20,255}\b"
    r"|\bglpat-[0-9A-Za-z_-]{20,}\b"
    r"|\bxox[abeoprs]-[0-9A-Za-z-]{10,}\b|\bxapp-[0-9A-Za-z-]{10,}\b"
    r"|\bsk-(?:ant-|proj-|or-)?[0-9A-Za-z_-]{20,}\b"
    r"|\b(?:sk|pk|rk)_(?:live|test)_[0-9A-Za-z]{16,}\b"
    r"|\bAIza[0-9A-Za-z_-]{35}\b|\bya29\.[0-9A-Za-z_-]{20,}"
    r"|\bnpm_[0-9A-Za-z]{36}\b|\bpypi-[0-9A-Za-z_-]{50,}\b|\bhf_[0-9A-Za-z]{30,}\b"
    r"|\bdop_v1_[0-9a-f]{64}\b|\bSG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}\b"
    r"|\bsl[a-z]_[0-9A-Za-z_-]{43}\b"
    r"|\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*"  # JSON web tokens
)
_BLOCK_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_BODY = re.compile(r"[0-9A-Za-z+/=]{24,}")
_USER = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]*:)([^\s/@'\"<>]+)(?=@)", re.IGNORECASE)
_NAMES = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|auth|"
    r"credential"
)
# A word is looked at once, from its start: an expression that may begin at each of its characters takes quadratic time.
_QUOTED_VALUE = re.compile(
    rf"((?<![\w.-])(?=[\w.-]*(?:{_NAMES}))[\w.-]++[\"']?\]?\s*(?:[:=]|=>|:=)\s*[bruf]?[\"'])([^\"'\s]{{4,}})(?=[\"'])",
    re.IGNORECASE,
)
_BARE_VALUE = re.compile(
    rf"^(\s*(?:export\s+|set\s+|env\s+|arg\s+|-\s+)?(?=[\w.-]*(?:{_NAMES}))[\w.-]++\s*[=:]\s*)([^\s\"'#;,(){{}}\[\]<>$]+)\s*$",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(r"(\b(?:bearer|basic|token)\s+)([0-9A-Za-z._~+/-]{16,}=*)", re.IGNORECASE)
_KEYLIKE = re.compile(rf"(?:{_NAMES}|salt|hmac|sign)", re.IGNORECASE)
_LONG = re.compile(r"[0-9A-Za-z+/_=-]{32,}")
# Answers cite commits, and 40 hexadecimal digits look as random as a key.
_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
_PIECE = re.compile(r"[/_.~-]+")
_MIN_LENGTH = 16
_MIN_DIGITS = 0.06
_MIN_BITS = 3.2
_MIN_SHARE = 0.75

_PLAIN_VALUES = re.compile(
    r"(?:none|null|nil|true|false|str|string|bytes|int|bool|self\..*|os\..*|env.*|config.*|args\..*|req.*|opts?.*|"
    r"[\^~<>=!]{0,2}\s?v?\d{1,5}(?:\.(?:\d{1,5}|[x*])){1,3}|"  # versions: "basic-auth": "~2.0.1"
    r"[a-z]+(?:[._-][a-z]+)*|(?:/[a-z]{1,20}(?:[._-][a-z]{1,20}){0,3}){1,6}/?|[A-Z][A-Za-z]*|%\w|\*+|x+|\.{3}|\d{1,3})",
    re.IGNORECASE,
)

_HIDDEN_NAME = re.compile(
    r"^\.env(?:\..*)?$|^\.?(?:netrc|pgpass|htpasswd|npmrc|pypirc|dockercfg)$|^id_(?:rsa|dsa|ecdsa|ed25519)$|"
    r"\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|der)$|^(?:credentials|secrets?)(?:\.(?:json|ya?ml|toml|ini|txt))?$",
    re.IGNORECASE,
)
_SAMPLE = re.compile(r"^\.env\.(?:example|sample|template|dist)$", re.IGNORECASE)


def is_hidden_file(path: str) -> bool:
    """Return whether a file usually contains secrets, and so is never quoted."""
    name = path.rpartition("/")[2]
    return bool(_HIDDEN_NAME.search(name)) and not _SAMPLE.match(name)


def redact(text: str) -> str:
    """Replace secrets in a text; it keeps its number of lines."""
    lines = text.split("\n")
    is_inside = False
    for index, line in enumerate(lines):
        if is_inside:
            if _BLOCK_END.search(line):
                is_inside = False
            else:
                lines[index] = REDACTED
            continue

        if _BLOCK_BEGIN.search(line):
            is_inside = not _BLOCK_END.search(line)
            # A key on one line, with `\n` written as text: the markers remain, the body doesn't.
            lines[index] = _BLOCK_BODY.sub(REDACTED, line)
            continue

        lines[index] = _redact_line(line)

    return "\n".join(lines)


def secrets_in(text: str) -> list[str]:
    """Return what `redact` replaces in a text, by lines, the longest first."""
    secrets_of_lines: set[str] = set()
    for line, redacted in zip(text.split("\n"), redact(text).split("\n"), strict=True):
        first, *following = redacted.split(REDACTED)
        position = len(first)
        for part in following:
            end = line.find(part, position) if part else len(line)
            secrets_of_lines.add(line[position : end if end >= 0 else len(line)])
            position = end + len(part)

    return sorted(secrets_of_lines - {""}, key=len, reverse=True)


def _redact_line(line: str) -> str:
    # Known formats first: what they replace is then no value for the vaguer patterns below.
    line = _MARKED.sub(REDACTED, line)
    line = _USER.sub(rf"\1{REDACTED}", line)
    line = _AUTHORIZATION.sub(lambda match: match[1] + (REDACTED if _is_random(match[2]) else match[2]), line)
    line = _QUOTED_VALUE.sub(lambda match: match[1] + _redact_value(match[2], quoted=True), line)
    line = _BARE_VALUE.sub(lambda match: match[1] + _redact_bare(match[1], match[2]), line)
    if _KEYLIKE.search(line):
        line = _LONG.sub(_redact_long, line)

    return line


def _redact_long(match: re.Match[str]) -> str:
    """Replace long random text, except git's object ids."""
    text = match[0]
    return REDACTED if _is_random(text) and not _OBJECT_ID.fullmatch(text.strip("/-_=+")) else text


def _redact_value(value: str, *, quoted: bool) -> str:
    if value == REDACTED or (_PLAIN_VALUES.fullmatch(value) and not (quoted and _is_random(value))):
        return value
    return REDACTED


_AMOUNT = re.compile(
    r"(?<![a-z])(?:max|min|limit|count|size|length|len|ttl|timeout|expir\w*|lifetime|age|interval|seconds)(?![a-z])",
    re.IGNORECASE,
)
"""A word of a name that makes it one of a number of things, such as ``MAX_TOKENS``, and not of a thing."""
_NUMBER = re.compile(r"\d[\d_]{0,11}")


def _redact_bare(name: str, value: str) -> str:
    """Replace the value of a name, unless the name says that it is an amount and the value is a number."""
    is_amount = _NUMBER.fullmatch(value) is not None and _AMOUNT.search(name.replace("_", " ")) is not None
    return value if is_amount else _redact_value(value, quoted=False)


def _is_random(text: str) -> bool:
    """Return whether a text is as random as an encoded key; names and paths of words are not."""
    # Paths and identifiers are words joined by separators; each word is short. An encoded key has one long piece.
    longest = max(_PIECE.split(text), key=len)
    digits = sum(sign.isdigit() for sign in longest)
    if len(longest) < _MIN_LENGTH or digits < max(2, _MIN_DIGITS * len(longest)) or digits == len(longest):
        return False

    counts = Counter(longest)
    # Shannon entropy per character. Of a short text it can't exceed log2 of its length, so the threshold is a share of
    # that.
    bits = -sum(n / len(longest) * math.log2(n / len(longest)) for n in counts.values())
    return bits >= min(_MIN_BITS, _MIN_SHARE * math.log2(len(longest)))


_MAX_FAULTS = 8
_MAX_FRAMES = 12


def format_error(error: BaseException) -> str:
    """Describe an error by its type and position, its causes too; of messages only their length."""
    lines: list[str] = []
    current: BaseException | None = error
    while current is not None and len(lines) < _MAX_FAULTS:
        # No message and no source line: both may quote a question, an answer or code.
        frames = [
            f"{PurePath(frame.f_code.co_filename).name}:{line} {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(current.__traceback__)
        ]
        name = f"{type(current).__module__}.{type(current).__qualname__}"
        lines.append(f"{name} ({len(str(current)):,} characters) at {' > '.join(frames[-_MAX_FRAMES:]) or 'no frame'}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)

    return "; because of ".join(lines)


_LOOK_ALIKE = re.compile(
    r"<(?=\s*+(?:/\s*+)?(?:source|result|system|instructions?|assistant|user|tool)[\s>:-])", re.IGNORECASE
)


def new_boundary() -> str:
    """Return a boundary that no existing text can contain."""
    return secrets.token_hex(8)


def frame_text(text: str, origin: str, boundary: str) -> str:
    """Put `text` between two boundary lines; similar lines in it are escaped."""
    # Repository text can't know the random boundary. It is replaced nevertheless, because it may come back in a text
    # that a model wrote.
    inner = _LOOK_ALIKE.sub("&lt;", text.replace(boundary, "[boundary]"))
    name = " ".join(origin.replace('"', "'").split())[:300]
    return f'<source-{boundary} origin="{_LOOK_ALIKE.sub("&lt;", name)}">\n{inner}\n</source-{boundary}>'
