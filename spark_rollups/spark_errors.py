"""Errors of Spark as one line, with the full text kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from spark_rollups.filesystem import RollupError

_FOREIGN: Final = ("pyspark", "py4j", "grpc")
_MOST: Final = 300
_NO_CLASS: Final = "does not exist in the JVM"
_DIED: Final = "Java has died; if the system log says out of memory, lower spark.driver.memory"


class SparkFailedError(RollupError):
    """A failed Spark job. Keeps the text, which is not available after Java has ended."""

    def __init__(self, story: str, consequence: str) -> None:
        self.story = story
        super().__init__(f"Spark failed: {reason_in(story)}; {consequence}")


@contextlib.contextmanager
def spark_failures(consequence: str) -> Iterator[None]:
    """Errors of Spark become one line; `consequence` is the result that readers see now."""
    try:
        yield
    except Exception as error:
        if not is_spark(error):
            raise
        story = _DIED if java_died(error) else str(error).strip()
        raise SparkFailedError(story, consequence) from error


@contextlib.contextmanager
def while_java_lives() -> Iterator[None]:
    """Leaves the block without an error if Java has died."""
    try:
        yield
    except Exception as error:
        if not java_died(error):
            raise


def java_died(error: Exception) -> bool:
    """A refused connection is one to Java: errors of storage are RollupError.

    When Java dies during a call, py4j takes classes of Spark itself for missing.
    """
    lost = type(error).__name__ == "Py4JNetworkError" or str(error).endswith(_NO_CLASS)
    return isinstance(error, ConnectionError) or lost


def is_spark(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in _FOREIGN or java_died(error)


def reason_in(story: str) -> str:
    """The Python error of a worker; else the first line with an exception."""
    lines = [line.strip() for line in story.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        if line.startswith("Traceback"):
            after = [each for each in lines[index + 1 :] if _is_error(each)]
            if after:
                return after[0][:_MOST]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return (causes or lines or ["no reason given"])[0].removeprefix(": ")[:_MOST]


def _is_error(line: str) -> bool:
    name = line.partition(":")[0]
    return name.replace(".", "").isidentifier() and name.endswith(
        ("Error", "Exception", "Interrupt")
    )
