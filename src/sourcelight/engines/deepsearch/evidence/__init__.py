"""Evidence of answers: quotes of files and commits, and how they are found and selected.

Ranking of files lives in `search.ranking`; citations are checked in `citations`. Start with `model`, then `quotes`.
"""

from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Evidence, EvidenceLedger, FileEvidence

__all__ = ["CommitEvidence", "Evidence", "EvidenceLedger", "FileEvidence"]
