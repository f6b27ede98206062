"""Bounds follow the memory limit of the container."""

from pathlib import Path

import pytest

from archive.settings.limits import Limits
from streamgauge.serving.memory_limit import memory_limit, within_memory

MIB = 1024**2


NO_FILE = Path("/nonexistent")


def written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("268435456\n", 256 * MIB), ("max\n", None), ("9223372036854771712\n", None)],
    ids=["a limit", "none, cgroup 2", "none, cgroup 1"],
)
@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_in_a_container_the_limit_is_that_of_the_mounted_group(
    tmp_path: Path, name: str, text: str, limit: int | None
) -> None:
    written(tmp_path / name, text)
    assert memory_limit(tmp_path, NO_FILE) == limit


@pytest.mark.parametrize(
    ("groups", "folder", "name"),
    [
        ("0::/system.slice/streamgauge.service\n", "", "memory.max"),
        (
            "9:name=systemd:/x\n4:hugetlb,memory:/system.slice/streamgauge.service\n0::/\n",
            "memory",
            "memory.limit_in_bytes",
        ),
    ],
    ids=["cgroup 2", "cgroup 1"],
)
def test_outside_containers_it_is_the_lowest_of_the_own_group_and_those_above(
    tmp_path: Path, groups: str, folder: str, name: str
) -> None:
    written(tmp_path / "groups", groups)
    slice_of = tmp_path / folder / "system.slice"
    written(slice_of / "other.service" / name, str(1 * MIB))
    written(slice_of / "streamgauge.service" / name, str(256 * MIB))
    assert memory_limit(tmp_path, tmp_path / "groups") == 256 * MIB
    written(slice_of / name, str(128 * MIB))
    assert memory_limit(tmp_path, tmp_path / "groups") == 128 * MIB
    written(slice_of / name, "max\n")
    assert memory_limit(tmp_path, tmp_path / "groups") == 256 * MIB


def test_without_a_cgroup_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path, NO_FILE) is None


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
