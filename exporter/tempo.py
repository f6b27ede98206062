"""Shorter windows for tests and the demo, which cannot wait five minutes.

`STREAMGAUGE_SPEED=60` divides every window and wait by which the exporter judges, as
`streamgauge alerts render --speed 60` divides those of the rules. Production never sets it.
"""

from __future__ import annotations

import os
from math import isfinite
from typing import Final

VARIABLE: Final = "STREAMGAUGE_SPEED"
# A window holds several polls at any speed: ten of the demo.
_LEAST_SECONDS: Final = 20.0


def _speed() -> float:
    text = os.environ.get(VARIABLE, "1")
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not (isfinite(speed) and speed >= 1):
        raise SystemExit(f"streamgauge: {VARIABLE}={text!r}: must be a number of at least 1")
    return speed


SPEED: Final = _speed()


def scaled(seconds: float, least: float = _LEAST_SECONDS) -> float:
    """Never longer than `seconds`."""
    return max(seconds / SPEED, min(seconds, least))
