"""Repeats a delivery a few times."""

from __future__ import annotations

import time
from collections.abc import Callable

from spark_rollups.report.month import Progress

_PAUSES = (1.0, 5.0)  # seconds before the second and the third attempt


class DeliveryError(Exception):
    """The report was not delivered; the text is one line without secrets."""


def repeated(
    deliver: Callable[[], None], progress: Progress, pause: Callable[[float], None] = time.sleep
) -> None:
    """Raises the error of the last attempt; the others are progress lines."""
    for seconds in _PAUSES:
        try:
            deliver()
        except DeliveryError as error:
            progress(f"{error}; retrying in {seconds:.0f} s")
            pause(seconds)
        else:
            return
    deliver()
