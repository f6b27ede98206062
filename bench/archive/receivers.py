"""The receivers that are compared: the archive, Prometheus and VictoriaMetrics, from PATH first."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.process import python
from streamgauge.demo.processes.program_cache import (
    ProgramMissingError,
    cached,
    unpack_debian_packages,
)
from streamgauge.demo.processes.programs import debian_prometheus


@dataclass(frozen=True, slots=True)
class Receiver:
    name: str
    command: Callable[[Path, int], Sequence[str]]
    ready: str

    path: str = "/api/v1/write"

    def ready_url(self, port: int) -> str:
        return f"http://127.0.0.1:{port}{self.ready}"


def receivers() -> list[Receiver]:
    """Ours first; prints the versions of the others."""
    found = [OURS]
    for name, program, command, ready in (
        (PROMETHEUS, prometheus_program(), _prometheus_command, "/-/ready"),
        (VICTORIA, victoria_program(), _victoria_command, "/health"),
    ):
        if program is not None:
            _print_version(program)
            found.append(Receiver(name, command(program), ready))
    return found


def prometheus_program() -> Path | None:
    """From PATH, else Debian's release 2."""
    found = shutil.which("prometheus")
    if found is not None:
        return Path(found)
    print("  prometheus is not on PATH: Debian's release 2 instead, not release 3")
    programs = debian_prometheus()
    return None if programs is None else programs.prometheus


def victoria_program() -> Path | None:
    found = shutil.which("victoria-metrics")
    if found is not None:
        return Path(found)
    try:
        return cached("debian-victoria-metrics", _fetch_victoria) / "usr/bin/victoria-metrics"
    except ProgramMissingError as error:
        print(f"  VictoriaMetrics: {error}")
        return None


def _fetch_victoria(into: Path) -> None:
    unpack_debian_packages(("victoria-metrics",), into)


def _print_version(program: Path) -> None:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    print(f"  {program.name}: {(done.stdout or done.stderr).partition(chr(10))[0][:60]}")


def _ours(folder: Path, port: int) -> Sequence[str]:
    return python("-m", "archive.main", "--data", str(folder / "data"),
                  "--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error")  # fmt: skip


OURS: Final = Receiver("streamgauge", _ours, "/-/ready")
PROMETHEUS: Final = "Prometheus"
VICTORIA: Final = "VictoriaMetrics"


def _prometheus_command(program: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, port: int) -> Sequence[str]:
        config = folder / "prometheus.yml"
        config.write_text("global: {}\n")
        return (str(program), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--web.enable-remote-write-receiver", "--log.level=error")  # fmt: skip

    return command


def _victoria_command(program: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, port: int) -> Sequence[str]:
        return (str(program), f"-storageDataPath={folder / 'data'}",
                f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR",
                "-retentionPeriod=10y")  # fmt: skip

    return command
