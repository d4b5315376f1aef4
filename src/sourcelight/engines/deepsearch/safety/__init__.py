"""What keeps hostile repositories and careless secrets from doing harm: redaction, hidden files, frames, logs.

Text of repositories is data. Nothing here knows a question or a model.
"""

from sourcelight.engines.deepsearch.safety.faults import without_text
from sourcelight.engines.deepsearch.safety.framing import framed, new_boundary
from sourcelight.engines.deepsearch.safety.secret_text import is_hidden_file, redact

__all__ = ["framed", "is_hidden_file", "new_boundary", "redact", "without_text"]
