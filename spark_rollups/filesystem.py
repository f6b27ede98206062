"""Files of the archive and of the rollups, in a folder or on an object store of pyarrow.fs.

Files are written atomically. Spark workers use this module too.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.fs as pafs  # type: ignore[import-untyped]

from archive.tables.object_store import canonical, open_object_store


class RollupError(Exception):
    """The rollup failed; the text is one line."""


class Root:
    """The root folder or URL; all paths are relative to it. `text` is enough to open it in a worker."""

    def __init__(self, text: str) -> None:
        self.shown = re.sub(r"//[^/@]*@", "//***@", text)
        self.text = self._canonical(text)
        self.files, base = self._opened()
        self._base = base.rstrip("/")
        self._local = isinstance(self.files, pafs.LocalFileSystem)

    def __str__(self) -> str:
        return self.shown

    def _canonical(self, text: str) -> str:
        text = text.removeprefix("file://")
        if "://" not in text:
            self.shown = Path(text).absolute().as_posix()
            return self.shown
        try:
            return canonical(text)
        except ValueError as error:
            raise RollupError(f"{self.shown}: {error}") from error

    def at(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    def exists(self, path: str) -> bool:
        with self.named_errors("stat", path):
            (found,) = self.files.get_file_info([self.at(path)])
        return bool(found.type == pafs.FileType.File)

    @property
    def spark(self) -> str:
        """The address as Spark's file systems name it."""
        if "://" not in self.text:
            return f"file://{self.text}"
        return f"s3a://{rest}" if (rest := self.text.partition("s3://")[2]) else self.text

    @property
    def folder(self) -> Path | None:
        return Path(self.text) if self._local else None

    def read(self, path: str) -> bytes:
        with self.named_errors("read", path), self.files.open_input_stream(self.at(path)) as source:
            data: bytes = source.read()
            return data

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as sink:
            sink.write(data)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """For random access."""
        with self.named_errors("read", path), self.files.open_input_file(self.at(path)) as source:
            yield source

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        """Yields a sink; the file exists after the block has ended without an error."""
        with self.named_errors("write", path):
            if not self._local:
                # Closing completes an upload, even after an error: so upload after the block.
                whole = pa.BufferOutputStream()
                yield whole
                with self._upload(self.at(path)) as sink:
                    sink.write(whole.getvalue())
                return
            final = Path(self.at(path))
            final.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(final) as sink:
                yield sink

    def delete(self, path: str) -> None:
        """A missing file is no error."""
        with self.named_errors("delete", path), contextlib.suppress(FileNotFoundError):
            self.files.delete_file(self.at(path))

    @contextlib.contextmanager
    def named_errors(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RollupError(f"cannot {verb} {self.shown}/{path}: {reason}") from error

    def _opened(self) -> tuple[Any, str]:
        if "://" not in self.text:
            return pafs.LocalFileSystem(), self.text
        try:
            files, base = open_object_store(self.text)
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0].replace(self.text, self.shown)
            raise RollupError(f"{self.shown}: {reason}") from error
        return files, base

    def _upload(self, path: str) -> Any:
        try:
            return self.files.open_output_stream(path)
        except FileNotFoundError:  # a store with real folders
            self.files.create_dir(path.rpartition("/")[0], recursive=True)
            return self.files.open_output_stream(path)


@lru_cache(maxsize=8)
def root_at(text: str) -> Root:
    """Cached between the tasks of a worker: opening an object store sends requests."""
    return Root(text)


@contextlib.contextmanager
def written_whole(final: Path) -> Iterator[Any]:
    """Writes a temporary file, syncs it, and renames it: readers see all of it or nothing.

    Its suffix is another: collectors of text files read all *.prom.
    """
    scratch = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        with scratch.open("wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        scratch.rename(final)
        _sync_folder(final.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Makes a new name durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
