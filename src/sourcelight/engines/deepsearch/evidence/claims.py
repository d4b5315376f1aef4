"""The sentences that an answer may state as facts, each with its proof; no other sentence is stated.

The check runs between the lookups and the writer of the answer, so every new kind of sentence needs a claim here.
`docs/design/deepsearch.md` has the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from sourcelight.engines.deepsearch.evidence.code_claims import CODE_CLAIMS
from sourcelight.engines.deepsearch.evidence.history_claims import HISTORY_CLAIMS
from sourcelight.engines.deepsearch.evidence.manifest_claims import MANIFEST_CLAIMS
from sourcelight.engines.deepsearch.evidence.model import (
    Claim,
    CommitEvidence,
    Evidence,
    FileEvidence,
    Finding,
    Statement,
)
from sourcelight.engines.deepsearch.redaction import REDACTED, secrets_in

CLAIMS: Sequence[Claim] = (*CODE_CLAIMS, *MANIFEST_CLAIMS, *HISTORY_CLAIMS)
"""In the order of trial: the first form that a sentence has is its claim."""

_NAME = r"(?P<quote{0}>`+)(?:.+?)(?P=quote{0})"
UNREAD = "In the part that could be read: "
"""Beginning of a sentence about contents of which only a part could be read."""


def claim_of(sentence: str, proofs: Sequence[str] = ()) -> Claim | None:
    """Return what kind of fact a sentence states; None for a sentence of no known form.

    Parameters
    ----------
    sentence
        Markdown without citations and without its full stop.
    proofs
        Only claims with one of these proofs; all if there are none.
    """
    text = sentence.removeprefix(UNREAD)
    for claim in CLAIMS:
        if (not proofs or claim.proof in proofs) and any(_pattern(form).fullmatch(text) for form in claim.forms):
            return claim
    return None


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Turn a form into an expression."""
    parts = []
    for number, part in enumerate(re.split(r"(`…`|…)", form)):
        parts.append(_NAME.format(number) if part == "`…`" else ".*" if part == "…" else re.escape(part))
    return re.compile("".join(parts) + (".*" if form.endswith("`…`") else ""), re.DOTALL)


def is_proven(finding: Finding) -> bool:
    """Return whether the headline of a finding has a known form, and its proof.

    A sentence about something cites lines or paths that have its name. One that says what is nowhere needs a search
    that was whole.
    """
    # Expressions for forms and numbers take more than linear time.
    if len(finding.headline.text) > _MAX_SENTENCE_CHARS:
        return False
    claim = claim_of(finding.headline.text, ("lines", "commit", "search"))
    if claim is None or not numbers_of(finding.headline.text) <= finding.recounts:
        return False
    if claim.proof == "search":
        return finding.is_negative and not finding.notes and bool(finding.queries)

    evidence = finding.headline.evidence
    if claim.proof == "commit":
        return any(isinstance(item, CommitEvidence) for item in evidence)

    return bool(evidence) and _has_subject(finding.headline.text, evidence)


def without_secrets(finding: Finding) -> Finding:
    """Return a finding whose sentences have no secret of the lines that they cite.

    A quote is redacted as a line, by the name that the value is given to. A sentence has the value without that line.
    """
    return replace(
        finding,
        headline=_redact_statement(finding.headline),
        details=[_redact_statement(statement) for statement in finding.details],
    )


def _redact_statement(statement: Statement) -> Statement:
    text = statement.text
    for item in statement.evidence:
        for secret in secrets_in(item.text) if isinstance(item, FileEvidence) else ():
            text = text.replace(secret, REDACTED)
    return replace(statement, text=text)


_MAX_SENTENCE_CHARS = 4_000
_MAX_DIGITS = 18  # Python reads no number of more than 4,300

_NO_COUNT = re.compile(
    r"(`+).*?\1|“[^”]*”|\b[Ll]ines?\s+[\d,]+(?:\s*(?:to|-|and)\s*[\d,]+)?"
    r"|\d{4}-\d{2}-\d{2}|[Cc]ommit\s+\w+|\b[0-9a-f]{7,40}\b"
    r"|\bby\s.*?\son\s(?=\d{4}-)",
    re.DOTALL,
)
"""Numbers that count nothing: in code, of lines, dates and commits."""


def numbers_of(sentence: str) -> frozenset[int]:
    """Return the numbers by which a sentence counts something; -1, which nothing counts, for one of too many digits."""
    text = _NO_COUNT.sub(" ", sentence)
    digits = (number.replace(",", "") for number in re.findall(r"(?<![\w.])\d[\d,]*(?![\w.])", text))
    return frozenset(int(number) if len(number) <= _MAX_DIGITS else -1 for number in digits)


def _has_subject(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether the name that a sentence is about is in the lines, or the paths, that it cites."""
    subject = re.search(r"(`+)\s?(.+?)\s?\1", sentence)
    if subject is None:
        return True

    files = [item for item in evidence if isinstance(item, FileEvidence)]
    # What a line of a body is said to be in is known by its definition.
    holders = [symbol for item in files if item.role == "usage" for symbol in item.symbols]
    text = " ".join([*(f"{item.path} {item.text}" for item in files), *holders]).casefold()
    name = re.split(r"\.|::|->|#|/", subject[2].strip("`").removesuffix("()").rstrip("/"))[-1]
    return bool(name) and name.casefold() in text
