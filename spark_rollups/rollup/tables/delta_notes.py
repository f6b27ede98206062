"""What a Delta log knows, read with delta-rs: files, changed days, and notes of our commits."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from urllib.parse import unquote

from spark_rollups.filesystem import RollupError, Root

ABSENT: Final = -1
_PARTITION: Final = re.compile(r"(?:^|/)(?:day|as_of)=(\d{4}-\d\d-\d\d)/")


@dataclass(frozen=True, slots=True)
class TableFile:
    path: str  # in the root
    rows: int
    partition: str  # the day; "" in a table without


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table: ABSENT and no files without a table."""

    number: int
    files: tuple[TableFile, ...]

    def rows(self, first: date, last: date) -> int:
        low, high = first.isoformat(), last.isoformat()
        return sum(file.rows for file in self.files if low <= file.partition <= high)

    @property
    def partitions(self) -> list[str]:
        return sorted({file.partition for file in self.files})


def read_version(root: Root, table: str, version: int | None = None) -> TableVersion:
    """The newest version, unless another is given. Raises RollupError."""
    import pyarrow as pa  # type: ignore[import-untyped]

    with _opened(root, table, version, optional=True) as found:
        if found is None:
            return TableVersion(ABSENT, ())
        actions = pa.table(found.get_add_actions(flatten=True)).to_pylist()
    files = [
        TableFile(f"{table}/{unquote(each['path'])}", each["num_records"] or 0, _partition(each))
        for each in actions
    ]
    return TableVersion(found.version(), tuple(sorted(files, key=lambda file: file.path)))


@contextlib.contextmanager
def _opened(
    root: Root, table: str, version: int | None = None, *, optional: bool = False
) -> Iterator[Any]:
    """The table; None if there is none and it is optional. Errors of delta-rs become a RollupError."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        try:
            found = DeltaTable(f"{root.text}/{table}", version=version)
        except TableNotFoundError:
            if not optional:
                raise
            found = None
        yield found
    except (DeltaError, OSError) as error:
        raise RollupError(f"{root}/{table}: {str(error).splitlines()[0]}") from error


def _partition(action: dict[str, Any]) -> str:
    found = action.get("partition.day") or action.get("partition.as_of")
    return found.isoformat() if found else ""


def changed_partitions(root: Root, table: str, after: int, until: int) -> set[str] | None:
    """Days with another content since version `after`; None if the log does not reach back."""
    found: set[str] = set()
    for version in range(after + 1, until + 1):
        path = f"{table}/_delta_log/{version:020d}.json"
        if not root.exists(path):
            return None
        for action in _changes(root.read(path)):
            if match := _PARTITION.search(unquote(action["path"])):
                found.add(match[1])
    return found


def _changes(commit: bytes) -> Iterator[dict[str, Any]]:
    """Added and removed files; merged files of the same rows change nothing."""
    for line in commit.splitlines():
        entry = json.loads(line) if line.strip() else {}
        action = entry.get("add") or entry.get("remove")
        if action and action.get("dataChange", True):
            yield action


def newest_note(root: Root, table: str) -> dict[str, Any]:
    """What the newest rollup noted in its commit to this table; {} without one."""
    with _opened(root, table, optional=True) as found:
        history = found.history() if found is not None else []
    for commit in history:
        text = commit.get("userMetadata")
        try:
            note = json.loads(text) if text else None
        except ValueError:
            continue
        if isinstance(note, dict) and "streamgauge" in note:
            return {"written": commit.get("timestamp", 0), "version": commit["version"],
                    **note["streamgauge"]}  # fmt: skip
    return {}


def note_text(**entries: Any) -> str:
    return json.dumps({"streamgauge": entries}, sort_keys=True)


def ensure_note(root: Root, table: str, text: str) -> None:
    """Commits the note alone if the last commit lacks it: Spark skips a commit without files."""
    from deltalake import CommitProperties

    with _opened(root, table) as found:
        if found.history(1)[0].get("userMetadata") == text:
            return
        found.create_write_transaction(
            [], "append", found.schema(), found.metadata().partition_columns,
            commit_properties=CommitProperties(custom_metadata={"userMetadata": text}),
        )  # fmt: skip


def vacuum(root: Root, table: str, hours: int) -> None:
    """Deletes files that no version of the last hours has."""
    with _opened(root, table) as found:
        found.vacuum(hours, dry_run=False, enforce_retention_duration=False)
