"""The speed-up of tests and the demo."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WINDOWS = (
    "from exporter.signals.window import SPACING_SECONDS, WINDOW_SECONDS;"
    "from exporter.signals.delivery_stall import NO_WORKER_SECONDS;"
    "from exporter.signals.conditions.work_in_progress import FRESH_SECONDS;"
    "print(WINDOW_SECONDS, SPACING_SECONDS, NO_WORKER_SECONDS, FRESH_SECONDS)"
)


def run(speed: str | None) -> subprocess.CompletedProcess[str]:
    plain = {name: text for name, text in os.environ.items() if name != "STREAMGAUGE_SPEED"}
    environment = plain if speed is None else {**plain, "STREAMGAUGE_SPEED": speed}
    words = [sys.executable, "-c", WINDOWS]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("speed", "windows"),
    [
        (None, "300.0 30.0 10.0 90.0"),
        ("1", "300.0 30.0 10.0 90.0"),
        ("10", "30.0 3.0 10.0 20.0"),
        # Not shorter than several polls; what is shorter in production stays.
        ("60", "20.0 2.0 10.0 20.0"),
    ],
)
def test_windows_are_divided_by_the_speed(speed: str | None, windows: str) -> None:
    assert run(speed).stdout.strip() == windows


@pytest.mark.parametrize("speed", ["0", "0.5", "-3", "fast", "nan", "inf", ""])
def test_a_speed_that_is_none_is_refused_by_name(speed: str) -> None:
    done = run(speed)
    assert done.returncode == 1
    wanted = f"streamgauge: STREAMGAUGE_SPEED={speed!r}: must be a number of at least 1\n"
    assert done.stderr == wanted
