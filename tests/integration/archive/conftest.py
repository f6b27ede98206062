"""Fixtures of the tests of the archive with real programs."""

from collections.abc import Iterator

import pytest
from support.archive.s3 import s3_server


@pytest.fixture(scope="module")
def s3() -> Iterator[None]:
    """The environment leads to an S3 server on loopback."""
    with s3_server() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield
