"""A whole rollup on an S3 server on loopback: archive and tables are there, and so is the lock."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.archive.s3 import BUCKET, s3_server, upload
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive
from support.rollups.generated_samples import generated_days
from support.rollups.runs import CONF, run, wrong

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.jobs.output_lock import output_lock
from spark_rollups.jobs.rollup import rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.session import Session, SparkSettings, open_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NAMES = ["2026-09-28", "2026-09-29", "2026-09-30"]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"


def test_a_second_rollup_on_s3_is_refused_with_the_holder_and_the_object_to_delete(
    bucket: str,
) -> None:
    out = Root(f"{bucket}/locked")
    refusal = r"another rollup writes here: process \d+ on .*; if it has died, delete s3://.*json"
    with output_lock(out):  # noqa: SIM117
        with pytest.raises(RollupError, match=refusal), output_lock(out):
            pytest.fail("both hold the lock")
    with output_lock(out):
        pass


@pytest.mark.long
def test_a_whole_rollup_on_s3_has_the_values_of_the_samples(
    bucket: str, one_at_a_time: None, tmp_path: Path
) -> None:
    """Two runs: the first makes all days, the second only the one that changed."""
    samples = generated_days(41, MONDAY, 3)
    archive = RollupArchive(tmp_path)
    archive.add(samples, now=MONDAY + 5 * DAY)
    upload(tmp_path, "archive")
    there, out = f"{bucket}/archive", f"{bucket}/rollups"
    session = open_session(SparkSettings(master="local[2]", conf=CONF, s3=True))
    try:
        first = rollup(RollupSettings(there, out), lambda: while_locked(session, there, out),
                       SilentProgress())  # fmt: skip
        assert (first.days, first.snapshots) == (NAMES, NAMES[2:])
        assert wrong(out, samples) == []
        late = [(identity, at + MINUTE, value)
                for identity, at, value in samples[::60] if at < MONDAY + 23 * DAY // 24]  # fmt: skip
        archive.add(late, now=MONDAY + 5 * DAY)
        upload(tmp_path, "archive")
        assert run(session, there, out).days == NAMES[:1]
    finally:
        session.close()
    assert wrong(out, [*samples, *late]) == []
    assert [day.isoformat() for day in open_rollups(out).snapshot_days()] == NAMES[2:]


def while_locked(session: Session, archive: str, out: str) -> Session:
    """Spark starts when the first run holds the lock."""
    with pytest.raises(RollupError, match="another rollup writes here"):
        run(None, archive, out)
    return session
