"""One rollup at a time for each output: Spark's Delta writer is safe from one driver only.

In a folder the kernel frees the lock with its process. On an object store the lock is the first
commit of a small Delta table, which delta-rs puts only if it is absent.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spark_rollups.filesystem import RollupError, Root

_FILE: Final = ".rollup.lock"
_TABLE: Final = "_rollup_lock"
_COMMIT: Final = f"{_TABLE}/_delta_log/{0:020d}.json"


@contextlib.contextmanager
def output_lock(root: Root) -> Iterator[None]:
    """Raises RollupError with the holder if another rollup writes here."""
    with _file_lock(root, root.folder) if root.folder else _object_lock(root):
        yield


@contextlib.contextmanager
def _file_lock(root: Root, folder: Path) -> Iterator[None]:
    with root.named_errors("write", _FILE):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / _FILE).open("a+")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise RollupError(_refusal(root, file.read())) from error
        file.truncate(0)
        file.write(_holder())
        file.flush()
        yield
        file.truncate(0)


@contextlib.contextmanager
def _object_lock(root: Root) -> Iterator[None]:
    import pyarrow as pa  # type: ignore[import-untyped]
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.exceptions import DeltaError

    try:
        DeltaTable.create(
            f"{root.text}/{_TABLE}",
            Schema.from_arrow(pa.schema([("holder", pa.string())])),
            mode="error",
            commit_properties=CommitProperties(custom_metadata={"holder": _holder()}),
        )
    except DeltaError as error:
        if not root.exists(_COMMIT):
            raise RollupError(f"{root}: cannot lock: {str(error).splitlines()[0]}") from error
        text = f"{_read_holder(root)}; if it has died, delete {root}/{_COMMIT}"
        raise RollupError(_refusal(root, text)) from error
    try:
        yield
    finally:
        root.delete(_COMMIT)


def _read_holder(root: Root) -> str:
    for line in root.read(_COMMIT).splitlines():
        if holder := json.loads(line).get("commitInfo", {}).get("holder"):
            return str(holder)
    return "an unknown process"


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _refusal(root: Root, holder: str) -> str:
    return f"{root}: another rollup writes here: {holder.strip() or 'an unknown process'}"
