"""File operations that are durable when they return."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_PRIVATE = 0o640
# Errors of systems without a call that writes and syncs.
_NO_SUCH_CALL = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create_file(path: Path) -> int:
    """The descriptor of a new file. Raises FileExistsError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)


def append_file(path: Path, parts: Sequence[bytes]) -> None:
    """Appends and syncs. After an OSError the content is undefined."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_at(descriptor, parts, os.fstat(descriptor).st_size)
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def write_at(descriptor: int, parts: Sequence[bytes], offset: int) -> None:
    """Repeats short writes: a nearly full disk reports its error only at the next call."""
    written = os.pwritev(descriptor, parts, offset)
    if written == sum(map(len, parts)):
        return
    rest = b"".join(parts)
    while written < len(rest):
        written += os.pwrite(descriptor, memoryview(rest)[written:], offset + written)


def write_through(descriptor: int, parts: Sequence[bytes], offset: int) -> bool:
    """Writes and syncs in one call; False, with nothing written, where the system has no such call.

    Every blocking call releases the GIL and gets it back late, so one call is faster than two.
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
        write_at(descriptor, parts, offset)  # raises the reason
        sync_data(descriptor)
    return True


def sync_data(descriptor: int) -> None:
    os.fdatasync(descriptor)


def sync_folder(folder: Path) -> None:
    """Makes new, renamed and removed names in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Replaces the file atomically."""
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
