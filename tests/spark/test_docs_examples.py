"""The examples of docs/rollups.md, on an archive with known answers."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from support.rollups.archive import DAY, HOUR, MINUTE, MONDAY, RollupArchive, Sample, labels

from spark_rollups.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
DOCS = Path(__file__).parents[2] / "docs" / "rollups.md"
OCTOBER = MONDAY + 3 * DAY


def lag(consumer: str, at: int, value: float) -> Sample:
    metric = "streamgauge_consumer_lag_seconds"
    return labels(metric, stream="A", consumer=consumer), at, value


def level(name: str, stream: str, at: int, value: float) -> Sample:
    return labels(f"streamgauge_stream_{name}", stream=stream), at, value


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "archive"
    samples = [
        *(lag("billing", OCTOBER + hour * HOUR + step * MINUTE, hour + step / 10)
          for hour in (3, 9) for step in range(11)),
        lag("billing", OCTOBER - HOUR, 999.0), lag("other", OCTOBER, 999.0),
        level("bytes", "A", OCTOBER - HOUR, 9000.0),
        level("bytes", "A", OCTOBER, 100.0), level("bytes", "A", OCTOBER + DAY, 700.0),
        level("bytes", "B", OCTOBER, 90.0), level("bytes", "B", OCTOBER + DAY, 50.0),
        level("bytes", "C", OCTOBER, 1.0),
        *(level("max_bytes", stream, OCTOBER, limit) for stream, limit in (("A", 1e3), ("B", 1e2))),
    ]  # fmt: skip
    RollupArchive(path).add(samples, now=MONDAY + 10 * DAY)
    return path


def test_the_questions_of_a_planner_are_answered(session: Session, archive: Path) -> None:
    section = DOCS.read_text().partition("## Samples in Spark")[2].partition("\n## ")[0]
    first, *questions = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {"spark": session.spark}
    exec(first.replace("/var/lib/streamgauge/archive", str(archive)), names)  # noqa: S102
    most_lag, most_grown, fullest = (rows(question, names) for question in questions)
    assert most_lag == [(9, pytest.approx(9.95)), (3, pytest.approx(3.95))]
    assert most_grown == [("A", 600.0), ("C", 0.0), ("B", -40.0)]
    assert fullest == [("B", 0.9), ("A", 0.7), ("C", None)]


def rows(question: str, names: dict[str, Any]) -> list[tuple[Any, ...]]:
    (statement,) = ast.parse(question).body
    assert isinstance(statement, ast.Expr)
    frame = eval(compile(ast.Expression(statement.value), str(DOCS), "eval"), names)  # noqa: S307
    return [tuple(row) for row in frame.collect()]
