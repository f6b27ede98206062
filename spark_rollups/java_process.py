"""Starts the Java process behind Spark, and leaves out what it always says on stderr."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Final, TextIO

# Said at each start, whatever the log's settings are.
_KNOWN_WARNINGS: Final = ("WARNING: Using incubator modules",)


def launch_java(conf: Mapping[str, str]) -> None:
    """The next session takes this Java. Nothing happens where one is running already."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001
        return
    spark_conf = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        spark_conf.set(key, value)
    gateway = launch_gateway(spark_conf, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
    threading.Thread(target=_forward, args=(gateway.proc.stderr, sys.stderr), daemon=True).start()
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001


def end_java(seconds: float) -> bool:
    """Whether there was one of ours, and it has ended. There is no public way to end it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001
    if gateway is None or gateway.proc is None:
        return False
    gateway.shutdown()
    gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    try:
        gateway.proc.wait(seconds)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
        return False
    return True


def _forward(source: IO[bytes], sink: TextIO) -> None:
    """Until the other end is closed."""
    with source:
        for line in source:
            text = line.decode(errors="replace")
            if not text.startswith(_KNOWN_WARNINGS):
                sink.write(text)
                sink.flush()
