"""The archive without its HTTP fast path, so that `bench.archive.ingest` can compare the two."""

from __future__ import annotations

import sys

from archive.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], fast_path=False))
