"""A lock for one writer per folder, released when the process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from archive.wal.errors import WalLockedError

NAME: Final = "lock"
# The kernel's lock is per process: it does not exclude a second lock in this process.
_held: Final[set[Path]] = set()


class FolderLock:
    """Forked children do not inherit it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        if self._folder in _held:
            raise WalLockedError(f"{folder} is already open in this process")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._folder / NAME, flags, 0o640)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._holder()
            os.close(self._descriptor)
            raise WalLockedError(f"{folder} is in use by another archive ({holder})") from None
        except OSError:
            os.close(self._descriptor)
            raise
        _held.add(self._folder)
        self._sign()

    def release(self) -> None:
        if self._folder in _held:
            _held.discard(self._folder)
            os.close(self._descriptor)

    def _holder(self) -> str:
        process = os.read(self._descriptor, 32).decode(errors="replace").strip()
        return f"process {process}" if process else "an unknown process"

    def _sign(self) -> None:
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the process id
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
