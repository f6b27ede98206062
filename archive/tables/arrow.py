"""pyarrow for the archive. pyarrow has no type stubs, so only this module imports it directly."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.fs as pafs  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

__all__ = ["Array", "FileSystem", "Table", "pa", "pafs", "pc", "pq"]

# For readers only: the type checker sees Any.
Table: TypeAlias = Any
Array: TypeAlias = Any
FileSystem: TypeAlias = Any
