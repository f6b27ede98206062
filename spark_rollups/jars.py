"""Jars for Spark: fetched once into the cache folder, checked, given as files.

Spark's own Ivy fetches them, so the repositories are those that Java is configured for.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from spark_rollups.filesystem import RollupError
from spark_rollups.java import find_java
from spark_rollups.pinned_jars import DELTA, S3, Jar

FOLDER_VARIABLE: Final = "STREAMGAUGE_SPARK_JARS"
IVY_VARIABLE: Final = "STREAMGAUGE_IVY_SETTINGS"
_DEADLINE_SECONDS: Final = 600


def jars_folder(environ: Mapping[str, str]) -> Path:
    """Put the files here by hand on a machine without a network."""
    if own := environ.get(FOLDER_VARIABLE):
        return Path(own).absolute()
    if own := environ.get("STREAMGAUGE_CACHE"):
        return Path(own).absolute() / "spark-jars"
    cache = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/tmp"), ".cache")  # noqa: S108
    return Path(cache, "streamgauge", "spark-jars")


def spark_jars(
    environ: Mapping[str, str], log: Callable[[str], None], jars: Iterable[Jar] = DELTA
) -> list[Path]:
    """All files, fetched if missing; raises RollupError with one line if that fails."""
    folder, wanted = jars_folder(environ), list(jars)
    missing = [jar for jar in wanted if not (folder / jar.file).is_file()]
    if missing:
        log(f"fetching {len(missing)} jars into {folder}, once")
        _fetch(missing, folder, environ)
    for jar in wanted:
        _check(folder / jar.file, jar)
    return [folder / jar.file for jar in wanted]


def _check(path: Path, jar: Jar) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise RollupError(f"{path}: SHA-256 is {found}, not {jar.sha256}; delete it and run again")


def _fetch(jars: list[Jar], folder: Path, environ: Mapping[str, str]) -> None:
    """A file appears under its name only when it is whole and correct."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            problem = _retrieve(jars, Path(scratch), environ)
            for jar in jars:
                found = Path(scratch, jar.file)
                if not found.is_file():
                    raise RollupError(_offline(jar, folder, problem))
                _check(found, jar)
                found.replace(folder / jar.file)
    except OSError as error:
        raise RollupError(f"{folder}: {error.strerror or error}") from error


def _offline(jar: Jar, folder: Path, problem: str) -> str:
    return (
        f"cannot fetch {jar.group}:{jar.name}:{jar.version} ({problem}); "
        f"without a network put {jar.file} into {folder}"
    )


def _retrieve(jars: list[Jar], into: Path, environ: Mapping[str, str]) -> str:
    """Runs Ivy; returns why it failed, "" if it did not."""
    from pyspark.find_spark_home import _find_spark_home

    classes = sorted(Path(_find_spark_home(), "jars").glob("ivy-*.jar"))
    if not classes:
        return "this Spark has no Ivy"
    (into / "ivy.xml").write_text(_module(jars))
    settings = environ.get(IVY_VARIABLE)
    command = [
        str(find_java(environ)), "-cp", str(classes[0]), "org.apache.ivy.Main", "-warn",
        *(["-settings", settings] if settings else []), "-ivy", str(into / "ivy.xml"),
        "-cache", str(into / "cache"), "-types", "jar",
        "-retrieve", f"{into}/[artifact]-[revision].[ext]",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_DEADLINE_SECONDS, env=dict(environ),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {_DEADLINE_SECONDS} s"
    finally:
        shutil.rmtree(into / "cache", ignore_errors=True)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    reasons = [line for line in lines if re.search("Host|[Tt]imed? ?out|refused|Exception", line)]
    return (reasons or [f"Ivy ended with {done.returncode}"])[0][:200]


def _module(jars: list[Jar]) -> str:
    needed = "".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.name)}"
        f" rev={quoteattr(jar.version)} transitive='false'/>"
        for jar in jars
    )
    return (
        "<ivy-module version='2.0'><info organisation='streamgauge' module='jars'/>"
        "<configurations><conf name='default'/></configurations>"
        f"<dependencies defaultconf='default->master'>{needed}</dependencies></ivy-module>"
    )


def main(argv: list[str]) -> int:
    """Fetches the jars ahead of time, for set-ups and images; with `s3` those too."""
    try:
        spark_jars(os.environ, _say, (*DELTA, *S3) if "s3" in argv else DELTA)
    except RollupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    _say(str(jars_folder(os.environ)))
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
