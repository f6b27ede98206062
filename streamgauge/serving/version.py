"""The version of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("streamgauge")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "unknown"
