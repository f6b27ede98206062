"""The history as text for promtool, and the blocks that the real promtool makes of it."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import numpy as np

from exporter import catalog as c
from streamgauge.demo.history.openmetrics import STEP_SECONDS, write_openmetrics
from streamgauge.demo.history.recorded_series import Recording
from streamgauge.demo.history.time_grid import make_grid
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

GRID = make_grid(date(2026, 11, 15), 1, 300)
STREAM = ("demo", "APP", 'OR"DERS')


def recording() -> Recording:
    made = Recording(GRID)
    made.add(c.STREAM_BYTES, STREAM, np.arange(len(GRID)))
    made.add(c.STREAM_SUBJECTS, STREAM, 1)
    return made


def test_only_what_boards_show_is_written_at_the_longer_step(tmp_path: Path) -> None:
    file = tmp_path / "history.om"
    assert write_openmetrics(recording(), file) == 86_400 // STEP_SECONDS
    lines = file.read_text().splitlines()
    first = int(GRID.times[0])
    assert lines[0] == (
        'streamgauge_stream_bytes{account="APP",instance="127.0.0.1:7778",job="streamgauge",'
        f'stream="OR\\"DERS",system="demo"}} 0.0 {first}'
    )
    assert lines[1].endswith(f" 3.0 {first + STEP_SECONDS}")
    assert lines[-1] == "# EOF"
    assert not any("subjects" in line for line in lines)


def test_promtool_makes_a_block_of_it(tmp_path: Path) -> None:
    programs = prometheus()
    if programs is None:
        raise ProgramMissingError("promtool: not available")
    file, blocks = tmp_path / "history.om", tmp_path / "blocks"
    write_openmetrics(recording(), file)
    flags = ("-q", "--max-block-duration=2048h")
    command = (programs.promtool, "tsdb", "create-blocks-from", *flags, "openmetrics", file, blocks)
    subprocess.run(command, check=True, capture_output=True)
    assert len(list(blocks.glob("*/meta.json"))) == 1
