"""The log of one Delta table: reads its files and positions, commits changes, and tends it.

Every commit is put-if-absent on the version after the one that was read. delta-rs would rebase a
commit on newer versions by itself; here the loser must compute its files again (ConflictError).
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
    Transaction,
)

from archive.tables.arrow import pa
from archive.tables.data_file import Change, DataFile, from_add_action, path_in_table
from archive.tables.schema import partitions, table_schema
from archive.tables.storage import Storage, StorageError, first_line, shown
from archive.wal.fsync import sync_folder

ABSENT: Final = -1
# Checkpoints and log clean-up run in the archive's maintenance.
_NO_HOOKS: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_LOG_RETENTION: Final = "delta.logRetentionDuration"


class ConflictError(StorageError):
    """Another writer committed first: read the table again."""


class DeltaLog:
    def __init__(self, storage: Storage, name: str, history: float) -> None:
        """`history` is how long earlier versions stay in the log, in seconds."""
        self.name, self._storage = name, storage
        self._url = f"{storage.url}/{name}"
        self._folder = storage.folder / name if storage.folder else None
        self._retention = f"interval {math.ceil(history)} seconds"
        self._table: DeltaTable | None = None
        self._positions: dict[str, int | None] = {}

    def read(self) -> tuple[DataFile, ...]:
        """The files of the newest version; none without a table."""
        self._positions.clear()
        with self._named_errors("read"):
            try:
                self._table = DeltaTable(self._url)
            except TableNotFoundError:
                self._table = None
                return ()
            actions = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        files = (from_add_action(self.name, action) for action in actions)
        return tuple(sorted(files, key=lambda file: file.path))

    @property
    def version(self) -> int:
        """Of the last `read`; ABSENT without a table."""
        return ABSENT if self._table is None else self._table.version()

    def position(self, application: str) -> int | None:
        """The newest application transaction in the version of the last `read`."""
        if self._table is None:
            return None
        if application not in self._positions:  # delta-rs reads the log again for each
            with self._named_errors("read"):
                self._positions[application] = self._table.transaction_version(application)
        return self._positions[application]

    def commit(
        self, change: Change, positions: Mapping[str, int], *, data_change: bool = True
    ) -> None:
        """The next version after the last `read`; durable on return. Raises ConflictError."""
        table = self._table or self._create()
        now = time.time_ns() // 1_000_000
        with self._named_errors("commit to"):
            table.create_write_transaction(
                [
                    *(_add(file, now, data_change=data_change) for file in change.added),
                    *(_remove(file, now, data_change=data_change) for file in change.removed),
                ],
                mode="append",
                schema=Schema.from_arrow(table_schema(self.name)),
                partition_by=partitions(self.name),
                commit_properties=CommitProperties(
                    max_commit_retries=0,
                    app_transactions=[
                        Transaction(name, number, now) for name, number in positions.items()
                    ],
                ),
                post_commithook_properties=_NO_HOOKS,
            )
        self._sync(table.version() + 1)

    def empty_commits(self) -> list[str]:
        """Commit files without bytes, which delta-rs and Spark read as commits without changes."""
        names = self._storage.empty_files(f"{self.name}/_delta_log")
        return [name for name in names if name.endswith(".json")]

    def checkpoint(self) -> None:
        if self._table is not None:
            with self._named_errors("write a checkpoint of"):
                self._table.create_checkpoint()

    def drop_old_versions(self) -> None:
        """Deletes log files that a checkpoint replaces and that are older than `history`."""
        if self._table is None:
            return
        with self._named_errors("clean the log of"):
            if self._table.metadata().configuration.get(_LOG_RETENTION) != self._retention:
                self._table.alter.set_table_properties({_LOG_RETENTION: self._retention})
            self._table.cleanup_metadata()

    def unused_files(self, older_than: float) -> list[str]:
        """Files that no version of the last `older_than` seconds has; paths as in DataFile."""
        # delta-rs also lists replaced files that an earlier vacuum has deleted.
        listed = self._vacuum(older_than, dry_run=True)
        return self._storage.existing([f"{self.name}/{path}" for path in listed])

    def vacuum(self, older_than: float) -> list[str]:
        """Deletes the unused files; a vacuum that deletes is a commit."""
        return self._vacuum(older_than, dry_run=False) if self.unused_files(older_than) else []

    def _vacuum(self, older_than: float, *, dry_run: bool) -> list[str]:
        if self._table is None:
            return []
        with self._named_errors("vacuum"):
            return self._table.vacuum(
                retention_hours=math.ceil(older_than / 3600),
                dry_run=dry_run,
                enforce_retention_duration=False,
                full=True,
                post_commithook_properties=_NO_HOOKS,
            )

    def _create(self) -> DeltaTable:
        with self._named_errors("create"):
            try:
                self._table = DeltaTable.create(
                    self._url,
                    Schema.from_arrow(table_schema(self.name)),
                    partition_by=partitions(self.name),
                    configuration={_LOG_RETENTION: self._retention},
                )
            except DeltaError as error:
                if "already exists" in str(error):
                    raise ConflictError(f"{self} was created by another writer") from error
                raise
        if self._table.version() != 0:
            # delta-rs rebases a creation that loses the race: the table has unread commits.
            raise ConflictError(f"{self} was created by another writer")
        self._sync(0)
        return self._table

    def _sync(self, version: int) -> None:
        """delta-rs does not sync files, and the write-ahead log is deleted after a commit."""
        if self._folder is None:
            return
        log = self._folder / "_delta_log"
        with self._named_errors("sync"):
            descriptor = os.open(log / f"{version:020}.json", os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            for folder in (log, self._folder, self._folder.parent):
                sync_folder(Path(folder))

    def __str__(self) -> str:
        return f"table {self.name} in {shown(self._url.removesuffix('/' + self.name))}"

    @contextlib.contextmanager
    def _named_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except CommitFailedError as error:
            raise ConflictError(f"cannot {verb} {self}: {first_line(error)}") from error
        except (DeltaError, OSError) as error:
            raise StorageError(f"cannot {verb} {self}: {first_line(error)}") from error


def _add(file: DataFile, now: int, *, data_change: bool) -> AddAction:
    return AddAction(
        path_in_table(file), file.size, file.partition, now, data_change, file.statistics
    )


def _remove(file: DataFile, now: int, *, data_change: bool) -> RemoveAction:
    return RemoveAction(path_in_table(file), data_change, now, file.size, file.partition)
