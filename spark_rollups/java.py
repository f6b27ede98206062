"""Finds Java for Spark, checks its version, and speeds up its start."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from spark_rollups.filesystem import RollupError

OLDEST: Final = 17
_HOW: Final = f"Spark needs Java {OLDEST} or newer: install a JRE (Debian: openjdk-17-jre-headless)"
FLAGS: Final = ("-XX:+UseParallelGC", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")


def find_java(environ: Mapping[str, str]) -> Path:
    """The Java that the Spark scripts use."""
    home = environ.get("JAVA_HOME", "")
    found = Path(home, "bin", "java") if home else shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise RollupError(f"no Java found. {_HOW}, or set JAVA_HOME")
    java = Path(found).resolve()
    if not java.is_file():
        raise RollupError(f"JAVA_HOME is {home}, but there is no bin/java in it. {_HOW}")
    version = java_version(java)
    if version is not None and version < OLDEST:
        raise RollupError(f"{java} is Java {version}. {_HOW}")
    return java


def java_version(java: Path) -> int | None:
    """From the file `release` of the Java home; None without one."""
    release = java.parent.parent / "release"
    if not release.is_file():
        return None
    match = re.search(
        r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(errors="replace"), re.MULTILINE
    )
    return int(match[1]) if match else None


class ClassArchive:
    """The class data sharing archive (AppCDS) of Spark: it halves the start time.

    The first run writes it at its end, for one version of Java and Spark.
    """

    def __init__(
        self, java: Path, spark_home: Path, environ: Mapping[str, str], extra: str = ""
    ) -> None:
        """`extra` identifies further jars on the class path."""
        cache = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/tmp"), ".cache")  # noqa: S108
        jars = sorted((each.name, each.stat().st_size) for each in (spark_home / "jars").iterdir())
        key = f"{java}\n{java.stat().st_mtime_ns}\n{spark_home}\n{jars}\n{extra}"
        mark = hashlib.sha256(key.encode()).hexdigest()[:16]
        self.path = Path(cache, "streamgauge", f"spark-{mark}.jsa")
        self._fresh = self.path.with_suffix(f".{os.getpid()}.new")
        self.there = self.path.is_file()

    def flags(self) -> tuple[str, ...]:
        if self.there:
            return (f"-XX:SharedArchiveFile={self.path}",)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return ()  # a read-only home: start without the archive
        return (f"-XX:ArchiveClassesAtExit={self._fresh}",)

    def settle(self) -> None:
        """Renames the new file after Java has ended."""
        if self._fresh.is_file():
            self._fresh.replace(self.path)
