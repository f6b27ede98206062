"""`make fuzz`: a million altered responses and requests, or what a time limit allows."""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from support.fuzz.heads import check_heads
from support.fuzz.requests import NOT_EXPLAINED, check_requests
from support.fuzz.responses import check_responses
from support.fuzz.servers import check_servers

from archive.remote_write.decoder import Version

_PORTION: Final = 2_000
_KINDS: Final[dict[str, Callable[[int, int], Counter[str]]]] = {
    "responses": check_responses,
    "statistics of servers": check_servers,
    **{f"requests {version.name}": partial(check_requests, version=version) for version in Version},
    "heads of requests": check_heads,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--cases", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--minutes", type=float, default=30.0, metavar="N", help="time limit")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    wanted = parser.parse_args()
    logging.disable(logging.CRITICAL)  # each byte that is not UTF-8 has a line
    print(f"seed {wanted.seed}: repeat with --seed {wanted.seed}")
    deadline = time.monotonic() + 60 * wanted.minutes
    totals: dict[str, Counter[str]] = {kind: Counter() for kind in _KINDS}
    done = 0
    while done < wanted.cases and time.monotonic() < deadline:
        seed = wanted.seed + done
        for kind, check in _KINDS.items():
            try:
                totals[kind] += check(_PORTION // len(_KINDS), seed)
            except Exception:
                print(f"\nfailed: {kind} with seed {seed}")
                raise
        done += _PORTION
        print(f"\r{done:,} of {wanted.cases:,}", end="", file=sys.stderr)
    print(file=sys.stderr)
    for kind, found in totals.items():
        print(f"{kind}: {done // len(_KINDS):,}")
        for what, number in found.most_common():
            print(f"  {number:>9,}  {what or 'the same as the protobuf library'}")
    return int(any(rule.startswith(NOT_EXPLAINED) for found in totals.values() for rule in found))


if __name__ == "__main__":
    sys.exit(main())
