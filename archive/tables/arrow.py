"""The one door to pyarrow, which carries no types: everybody else imports it from here."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.fs as pafs  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

__all__ = ["Array", "FileSystem", "Table", "pa", "pafs", "pc", "pq"]

# For the reader's eye: to the type checker these are all Any.
Table: TypeAlias = Any
Array: TypeAlias = Any
FileSystem: TypeAlias = Any
