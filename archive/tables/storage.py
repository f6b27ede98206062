"""The data files of the archive, in a local folder or an object store.

A file is complete and durable before a commit names it, so a half-written one is never read.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from archive.tables.arrow import FileSystem, pa, pafs
from archive.tables.object_store import canonical, open_object_store
from archive.wal.fsync import sync_folder


class StorageError(Exception):
    """A file or a table could not be read or written; one line with the path."""


class UnreadableError(StorageError):
    """A published file is missing or damaged."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path = path


class Storage:
    """`url` is the root as Delta readers name it; `folder` is set for a local file system."""

    def __init__(self, filesystem: FileSystem, base: str, url: str, folder: Path | None) -> None:
        self._files = filesystem
        self._base = base.rstrip("/")
        self.url = url
        self.folder = folder

    def __str__(self) -> str:
        return shown(self.url)

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        """A sink for the file's bytes; the file is durable when the block ends without error."""
        with self._named_errors("write", path):
            if self.folder is None:
                with self._files.open_output_stream(self._at(path)) as sink:
                    yield sink
                return
            final = self.folder / path
            _make_folder(final.parent, self.folder)
            try:
                with final.open("wb") as sink:
                    yield sink
                    sink.flush()
                    os.fsync(sink.fileno())
            except BaseException:
                # On a full disk an incomplete file would waste space.
                with contextlib.suppress(OSError):
                    final.unlink(missing_ok=True)
                raise
            sync_folder(final.parent)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """For random access, which Parquet readers need."""
        with self.reading(path), self._files.open_input_file(self._at(path)) as source:
            yield source

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Errors within the block are those of this file."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            text = f"cannot read {path} in {self}: {first_line(error)}"
            raise UnreadableError(path, text) from error

    def delete(self, path: str) -> None:
        """A missing file is not an error."""
        with self._named_errors("delete", path), contextlib.suppress(FileNotFoundError):
            self._files.delete_file(self._at(path))

    def existing(self, paths: Sequence[str]) -> list[str]:
        with self._named_errors("list", paths[0] if paths else ""):
            found = self._files.get_file_info([self._at(path) for path in paths])
        return [
            path for path, info in zip(paths, found, strict=True) if info.type == pafs.FileType.File
        ]

    def empty_files(self, folder: str) -> list[str]:
        """The names of the files in a folder that have no bytes; none without the folder."""
        chosen = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self._named_errors("list", folder):
            found = self._files.get_file_info(chosen)
        return sorted(each.base_name for each in found if each.size == 0)

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    @contextlib.contextmanager
    def _named_errors(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"cannot {verb} {path} in {self}: {first_line(error)}") from error


def open_storage(place: str | Path) -> Storage:
    """A local folder, or the address of an object store."""
    text = str(place)
    if "://" not in text or text.startswith("file://"):
        folder = Path(text.removeprefix("file://")).absolute()
        return Storage(pafs.LocalFileSystem(), folder.as_posix(), folder.as_posix(), folder)
    try:
        url = canonical(text)
        filesystem, base = open_object_store(url)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StorageError(f"{shown(text)}: {first_line(error)}") from error
    return Storage(filesystem, base, url, None)


def shown(place: str | Path) -> str:
    """The address without credentials."""
    return re.sub(r"//[^/@:]*:[^/@]*@", "//***@", str(place))


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _make_folder(folder: Path, root: Path) -> None:
    """Creates folders and syncs their parents, which makes them durable."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)
        if each == root:
            return
