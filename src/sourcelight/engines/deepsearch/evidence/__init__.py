"""What answers are made of: lines of files and commits that speak to a question, and how they are found and chosen."""

from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Evidence, EvidenceLedger, FileEvidence

__all__ = ["CommitEvidence", "Evidence", "EvidenceLedger", "FileEvidence"]
