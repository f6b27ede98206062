"""Opens an object store by its address. Spark workers import it, so it depends only on pyarrow.

Data files go through pyarrow, which releases the GIL while it transfers; the file system of
delta-rs does not.
"""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow.fs as pafs  # type: ignore[import-untyped]

SCHEMES: Final = ("s3", "s3a", "gs", "abfs", "abfss")


def canonical(address: str) -> str:
    """One spelling for all libraries. Raises ValueError for an unknown kind of store."""
    scheme, _, rest = address.rstrip("/").partition("://")
    if scheme not in SCHEMES or "?" in rest:
        raise ValueError("is not a folder or an address like s3://bucket/prefix")
    return f"s3://{rest}" if scheme == "s3a" else f"{scheme}://{rest}"


def open_object_store(address: str) -> tuple[Any, str]:
    """The file system, and the path of the address in it; `address` is canonical."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if address.startswith("s3://") and region:
        endpoint = urlsplit(os.environ.get("AWS_ENDPOINT_URL") or "https:")
        files = pafs.S3FileSystem(
            region=region, scheme=endpoint.scheme, endpoint_override=endpoint.netloc or None
        )
        return files, address.removeprefix("s3://")
    found: tuple[Any, str] = pafs.FileSystem.from_uri(address)  # asks S3 for the region
    return found
