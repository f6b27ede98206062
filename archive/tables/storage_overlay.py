"""An overlay over an archive: writes go to a scratch folder, the archive is unchanged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archive.tables.arrow import pafs
from archive.tables.storage import Storage, Stored, open_storage


class OverlayStorage(Storage):
    def __init__(self, archive: Storage, scratch: Path) -> None:
        super().__init__(pafs.LocalFileSystem(), scratch.as_posix(), scratch)
        self._archive = archive
        self._written: set[str] = set()
        self._hidden: set[str] = set()
        self._scratch = open_storage(scratch)

    def __str__(self) -> str:
        return str(self._archive)

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        with self._scratch.create(path) as sink:
            yield sink
        self._written.add(path)

    def read(self, path: str) -> bytes:
        return self._place(path).read(path)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        with self._place(path).open(path) as source:
            yield source

    def delete(self, path: str) -> None:
        self._hidden.add(path)

    def list(self, folder: str) -> list[Stored]:
        found = {each.path: each for each in self._archive.list(folder)}
        found.update({each.path: each for each in self._scratch.list(folder)})
        return [each for path, each in sorted(found.items()) if path not in self._hidden]

    def is_scratch(self, path: str) -> bool:
        """Whether this file is not in the archive yet."""
        return path in self._written

    def _place(self, path: str) -> Storage:
        return self._scratch if path in self._written else self._archive
