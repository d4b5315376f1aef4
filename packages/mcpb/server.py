"""Entry point of the bundle: tools over standard input and output, for the folders that the user has chosen."""

import sys

from sourcelight.cli import main

sys.exit(main(["mcp", *sys.argv[1:]]))
