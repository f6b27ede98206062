"""Bounds follow the memory limit of the container."""

from pathlib import Path

import pytest

from archive.settings.limits import Limits
from streamgauge.serving.memory_limit import memory_limit, within_memory

MIB = 1024**2


@pytest.mark.parametrize(
    ("written", "limit"),
    [("268435456\n", 256 * MIB), ("max\n", None), ("9223372036854771712\n", None)],
    ids=["a limit", "none, cgroup 2", "none, cgroup 1"],
)
def test_the_limit_is_read_from_the_cgroup(tmp_path: Path, written: str, limit: int | None) -> None:
    file = tmp_path / "memory.max"
    file.write_text(written)
    assert memory_limit((tmp_path / "absent", file)) == limit


def test_without_a_cgroup_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_limit((tmp_path / "absent",)) is None


def test_a_bound_is_lowered_and_logged_where_memory_is_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    assert within_memory(1024 * MIB, 4, "max_response", 8192 * MIB) == 1024 * MIB
    assert within_memory(1024 * MIB, 4, "max_response", None) == 1024 * MIB
    assert not caplog.records
    assert within_memory(1024 * MIB, 4, "max_response", 256 * MIB) == 64 * MIB
    [record] = caplog.records
    assert vars(record)["fields"] == {
        "bound": "max_response", "bytes": 64 * MIB, "memory_limit": 256 * MIB,
    }  # fmt: skip


def test_the_limits_of_the_archive_fit_its_memory() -> None:
    limits = Limits()
    assert limits.within(None) == limits
    small = limits.within(512 * MIB)
    assert small.waiting == 64 * MIB
    assert small.live_series == 256 * MIB // 1_500
    assert limits.within(64 * 1024 * MIB) == limits
