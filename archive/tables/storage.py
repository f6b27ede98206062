"""Storage of published files: a local folder or an object store.

A file appears complete and durable under its name, or not at all.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archive.tables.arrow import FileSystem, pa, pafs
from archive.wal.fsync import sync_folder

TEMPORARY: Final = ".tmp-"


class StorageError(Exception):
    """A file of the archive could not be read or written; one line with the path."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One file; the path is relative to the archive."""

    path: str
    size: int


class Storage:
    """`folder` is set for a local file system, which needs rename and sync."""

    def __init__(self, filesystem: FileSystem, base: str, folder: Path | None = None) -> None:
        self._files = filesystem
        self._base = base.rstrip("/")
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder) if self._folder else f"{self._files.type_name}:{self._base}"

    @property
    def folder(self) -> Path | None:
        return self._folder

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        """A sink for the file's bytes; the file exists when the block ends without error."""
        with self._wrap_errors("write", path):
            if self._folder is None:
                # An object appears when its upload completes, and never after a failure.
                with self._upload(self._at(path)) as sink:
                    yield sink
                return
            final = self._folder / path
            _make_folder(final.parent, self._folder)
            with _scratch(final) as sink:
                yield sink
            sync_folder(final.parent)

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as sink:
            sink.write(data)

    def read(self, path: str) -> bytes:
        with (
            self._wrap_errors("read", path),
            self._files.open_input_stream(self._at(path)) as source,
        ):
            data: bytes = source.read()
            return data

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """For random access, which Parquet readers need."""
        with self._wrap_errors("read", path), self._files.open_input_file(self._at(path)) as source:
            yield source

    def delete(self, path: str) -> None:
        """A missing file is not an error."""
        with self._wrap_errors("delete", path), contextlib.suppress(FileNotFoundError):
            self._files.delete_file(self._at(path))

    def list(self, folder: str) -> list[Stored]:
        """Every file below a folder, with temporary ones; empty without the folder."""
        selector = pafs.FileSelector(self._at(folder), recursive=True, allow_not_found=True)
        with self._wrap_errors("list", folder):
            found = self._files.get_file_info(selector)
        return sorted(
            (
                Stored(info.path.removeprefix(self._base).lstrip("/"), info.size)
                for info in found
                if info.type == pafs.FileType.File
            ),
            key=lambda stored: stored.path,
        )

    def _upload(self, path: str) -> Any:
        try:
            return self._files.open_output_stream(path)
        except FileNotFoundError:  # a store with real folders
            self._files.create_dir(path.rpartition("/")[0], recursive=True)
            return self._files.open_output_stream(path)

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    @contextlib.contextmanager
    def _wrap_errors(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise StorageError(f"cannot {verb} {path} in {self}: {reason}") from error


def open_storage(place: str | Path) -> Storage:
    """A local folder, created if necessary, or the address of an object store."""
    text = str(place)
    if "://" not in text or text.startswith("file://"):
        folder = Path(text.removeprefix("file://")).absolute()
        return Storage(pafs.LocalFileSystem(), folder.as_posix(), folder)
    try:
        filesystem, base = pafs.FileSystem.from_uri(text)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].replace(text, shown(text))
        raise StorageError(f"{shown(text)}: {reason}") from error
    return Storage(filesystem, base)


def shown(place: str | Path) -> str:
    """The address without credentials."""
    return re.sub(r"//[^/@]*@", "//***@", str(place))


@contextlib.contextmanager
def _scratch(final: Path) -> Iterator[Any]:
    """A temporary file, renamed to the final name when it is complete and durable."""
    scratch = final.with_name(TEMPORARY + final.name)
    try:
        with scratch.open("wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        scratch.rename(final)
    except BaseException:
        # On a full disk an incomplete file would waste space.
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


def _make_folder(folder: Path, root: Path) -> None:
    """Creates folders and syncs their parents, which makes them durable."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)
        if each == root:
            return
