"""Makes the folders of tests importable by name, as mypy sees them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
