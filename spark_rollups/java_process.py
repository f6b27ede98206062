"""Starts the Java process of Spark, and filters known warnings from its stderr."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Final, TextIO

from spark_rollups.spark_errors import while_java_lives

# Printed at each start, regardless of the log configuration.
_KNOWN_WARNINGS: Final = ("WARNING: Using incubator modules",)


def launch_java(conf: Mapping[str, str]) -> None:
    """Starts Java for the next session, unless one is running."""
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
    """Ends the Java that we started; returns whether it ended. pyspark has no public way for this."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001
    if gateway is None or gateway.proc is None:
        return False
    with while_java_lives():
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
    """Copies lines until the source is closed."""
    with source:
        for line in source:
            text = line.decode(errors="replace")
            if not text.startswith(_KNOWN_WARNINGS):
                sink.write(text)
                sink.flush()
