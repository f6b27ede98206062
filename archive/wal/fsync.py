"""Bytes that are on the disk when a call returns, and the few calls that it takes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_PRIVATE = 0o640
# What a system says that has no call for both.
_NO_SUCH_CALL = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create_file(path: Path) -> int:
    """A descriptor of a new file; FileExistsError when there is one."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)


def append_file(path: Path, parts: Sequence[bytes]) -> None:
    """Behind what it holds already. After an OSError nobody knows what it holds."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_at(descriptor, parts, os.fstat(descriptor).st_size)
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def write_at(descriptor: int, parts: Sequence[bytes], offset: int) -> None:
    """A disk that is nearly full takes a part and refuses the rest at the next call only."""
    written = os.pwritev(descriptor, parts, offset)
    if written == sum(map(len, parts)):
        return
    rest = b"".join(parts)
    while written < len(rest):
        written += os.pwrite(descriptor, memoryview(rest)[written:], offset + written)


def write_through(descriptor: int, parts: Sequence[bytes], offset: int) -> bool:
    """Bytes and sync in one call; False, and nothing is written, where there is none for both.

    A thread that waits for the disk gives its turn away at each call, and gets it back late.
    """
    flags = getattr(os, "RWF_DSYNC", None)
    if flags is None:
        return False
    try:
        written = os.pwritev(descriptor, parts, offset, flags)
    except OSError as error:
        if error.errno in _NO_SUCH_CALL:
            return False
        raise
    if written < sum(map(len, parts)):
        write_at(descriptor, parts, offset)  # it says why
        sync_data(descriptor)
    return True


def sync_data(descriptor: int) -> None:
    os.fdatasync(descriptor)


def sync_folder(folder: Path) -> None:
    """Without it a new, renamed or removed name may not survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """All of it under that name, or what was there before."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = create_file(temporary)
    try:
        offset = 0
        for part in parts:
            write_at(descriptor, [part], offset)
            offset += len(part)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    sync_folder(path.parent)
