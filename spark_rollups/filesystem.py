"""Where archive and rollups are: a folder, or a prefix on one of pyarrow's file systems.

A file appears whole under its name, or not at all. Runs in Spark's workers too.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.fs as pafs  # type: ignore[import-untyped]

TEMPORARY: Final = ".tmp-"


class RollupError(Exception):
    """What cannot be read, written or done; one line that names what and where."""


class Root:
    """Paths are relative to it. It is made from its text, so it can be sent to a worker as text."""

    def __init__(self, text: str) -> None:
        self.text = text if "://" in text else Path(text).absolute().as_posix()
        self.shown = re.sub(r"//[^/@]*@", "//***@", self.text)
        self.files, base = self._opened()
        self._base = base.rstrip("/")
        self._local = isinstance(self.files, pafs.LocalFileSystem)

    def __str__(self) -> str:
        return self.shown

    def at(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    def names(self, folder: str) -> list[str]:
        """The files directly in a folder, sorted; none when there is no such folder."""
        selector = pafs.FileSelector(self.at(folder), allow_not_found=True)
        with self.named_errors("list", folder):
            found = self.files.get_file_info(selector)
        return sorted(each.base_name for each in found if each.type == pafs.FileType.File)

    def walk(self, folder: str) -> list[str]:
        """Every file below a folder, as paths."""
        selector = pafs.FileSelector(self.at(folder), recursive=True, allow_not_found=True)
        with self.named_errors("list", folder):
            found = self.files.get_file_info(selector)
        return sorted(
            each.path.removeprefix(self._base).lstrip("/")
            for each in found
            if each.type == pafs.FileType.File
        )

    def has(self, paths: Sequence[str]) -> bool:
        """Whether every one of these files is there."""
        with self.named_errors("look for", paths[0] if paths else ""):
            found = self.files.get_file_info([self.at(path) for path in paths])
        return all(each.type == pafs.FileType.File for each in found)

    def changed_at(self, path: str) -> int | None:
        """In milliseconds since 1970; None where the store does not tell, or the file is gone."""
        with self.named_errors("look for", path):
            (found,) = self.files.get_file_info([self.at(path)])
        return None if found.mtime_ns is None else int(found.mtime_ns // 1_000_000)

    def read(self, path: str) -> bytes:
        with self.named_errors("read", path), self.files.open_input_stream(self.at(path)) as source:
            data: bytes = source.read()
            return data

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as sink:
            sink.write(data)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """For random access, as Parquet readers need it."""
        with self.named_errors("read", path), self.files.open_input_file(self.at(path)) as source:
            yield source

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        """A sink for the file's bytes; the file is there when the block has ended well."""
        with self.named_errors("write", path):
            if not self._local:
                # To close an upload completes it, and an error closes it too: so it begins last.
                whole = pa.BufferOutputStream()
                yield whole
                with self._upload(self.at(path)) as sink:
                    sink.write(whole.getvalue())
                return
            with _scratch(Path(self.at(path))) as sink:
                yield sink

    def delete(self, path: str) -> None:
        """What is gone already is as good as deleted."""
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
            files, base = pafs.FileSystem.from_uri(self.text)
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0].replace(self.text, self.shown)
            raise RollupError(f"{self.shown}: {reason}") from error
        return files, base

    def _upload(self, path: str) -> Any:
        try:
            return self.files.open_output_stream(path)
        except FileNotFoundError:  # a store that has real folders, unlike most
            self.files.create_dir(path.rpartition("/")[0], recursive=True)
            return self.files.open_output_stream(path)


@lru_cache(maxsize=8)
def root_at(text: str) -> Root:
    """Kept between the tasks of a worker: to open an object store asks it requests."""
    return Root(text)


@contextlib.contextmanager
def _scratch(final: Path) -> Iterator[Any]:
    """A file of another name, which takes the final one when it is whole and on the disk.

    Its name is nobody else's: Spark may run one task twice at the same time.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    scratch = final.with_name(f"{TEMPORARY}{secrets.token_hex(4)}-{final.name}")
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
    """A new name is durable only when its folder is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
