%%born cli
%%moved src-layout pytide/cli.py
"""``tide``: the newest level of a station."""

import argparse

from pytide.client import Hub


def main(argv=None):
    """Print levels for a harbour master in a hurry."""
    parser = argparse.ArgumentParser(prog="tide")
    parser.add_argument("station")
    parser.add_argument("--hub", default="http://localhost:8080")
%%if cli-limit
    parser.add_argument("--limit", type=int, default=6)
%%end
    args = parser.parse_args(argv)
%%if cli-limit
    print(Hub(args.hub).levels(args.station, limit=args.limit))
%%else
    print(Hub(args.hub).levels(args.station))
%%end
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
