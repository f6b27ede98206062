"""The version of the installed package, and the flag that prints it."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("streamgauge")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "unknown"


def add_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--version",
        action="version",
        version=f"streamgauge {VERSION}",
        help="print the version and exit",
    )
