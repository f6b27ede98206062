"""Checks without a test on a real server, with the reason."""

from typing import Final

MODEL_ONLY: Final[dict[str, str]] = {}
