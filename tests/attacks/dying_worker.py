"""A worker process that takes more memory than it may, or says nothing, as its job asks."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Serve orders until the input ends."""
    for line in sys.stdin:
        order = json.loads(line)
        with Path(order["log"]).open("a", encoding="utf-8") as log:
            log.write("started\n")
        if order["do"] == "grow":
            buffer = bytearray(order["bytes"])
            sys.stdout.write(json.dumps({"event": "done", "bytes": len(buffer)}) + "\n")
        else:
            time.sleep(60)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
