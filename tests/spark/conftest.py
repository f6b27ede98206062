"""One Spark at a time on this machine, in a time zone with summer time: days are those of UTC."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.rollups.runs import CONF

from spark_rollups.filesystem import RollupError
from spark_rollups.jars import spark_jars
from spark_rollups.java import find_java
from spark_rollups.session import Session, SparkSettings, open_session


@pytest.fixture(scope="module")
def one_at_a_time() -> Iterator[None]:
    pytest.importorskip("pyspark")
    with Path(tempfile.gettempdir(), "streamgauge-tests-spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            find_java(os.environ)
            spark_jars(os.environ, lambda _: None)
        except RollupError as error:
            pytest.skip(str(error))
        yield


@pytest.fixture(scope="module")
def in_berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def session(one_at_a_time: None, in_berlin: None) -> Iterator[Session]:
    opened = open_session(SparkSettings(master="local[2]", conf=CONF))
    yield opened
    opened.close()
