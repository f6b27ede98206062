"""The archive on S3, end to end: server, tools and kills, against a server on loopback."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
from support.archive.folder import (
    DAY,
    HOUR,
    MONDAY,
    ArchiveFolder,
    Reported,
    published_samples,
    truth_of,
)
from support.archive.process import archiving
from support.archive.published import read_published
from support.archive.s3 import BUCKET
from support.nats.servers import long_run
from support.remote_write import messages as rw
from support.waiting import until

from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tools.cli import main


@pytest.fixture
def store(s3: object, tmp_path: Path) -> str:
    return f"s3://{BUCKET}/{tmp_path.name}"


def objects(store: str, prefix: str) -> list[str]:
    base = store.removeprefix(f"s3://{BUCKET}/")
    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    found = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{base}/{prefix}")
    return sorted(each["Key"].removeprefix(f"{base}/") for each in found.get("Contents", ()))


def hours(first: int, last: int) -> list[Reported]:
    return [
        (name, MONDAY + hour * HOUR + place * 60_000, hour + place / 8)
        for hour in range(first, last)
        for name in ("up", "c_total/b")
        for place in range(5)
    ]


def test_publish_late_data_compaction_and_vacuum(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PublishSettings(retention=RetentionSettings(replaced=0.0))
    late: list[Reported] = [("up", MONDAY + HOUR + 1, 5.0), ("new", MONDAY + 30 * HOUR, 1.0)]
    address = store.replace("s3://", "s3a://")
    with ArchiveFolder(tmp_path, settings, address) as folder:
        for hour in (0, 1, 2):
            folder.send(hours(hour, hour + 1))
            folder.publish_all()
        assert len(folder.day_files("samples")) == 3
        folder.send(late)
        folder.publish_all()
        assert folder.samples() == truth_of([*hours(0, 3), *late])
        time.sleep(1.1)  # times of objects are in whole seconds
        assert folder.publish_due(MONDAY + 2 * DAY + HOUR).compacted == 1
        assert [len(folder.day_files("samples", day)) for day in folder.snapshot.days] == [1, 1]
        assert objects(store, "samples/day=") == [
            file.path for file in folder.snapshot.files["samples"]
        ]
        assert folder.wal.sealed_segments() == []
        folder.send(hours(3, 4))
        assert main(["inspect", store, "--wal", str(tmp_path / "wal")]) == 0
        assert "42 samples of 3 series" in capsys.readouterr().out
    assert published_samples(store) == truth_of([*hours(0, 3), *late])
    assert main(["verify", store]) == 0
    assert main(["compact", str(tmp_path), "--store", address]) == 0
    assert published_samples(store) == truth_of([*hours(0, 4), *late])
    assert [path.name for path in tmp_path.iterdir()] == ["wal"]


def test_a_store_that_is_away_loses_nothing(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ArchiveFolder(tmp_path, store=store) as folder:
        folder.send(hours(0, 1))
        folder.publish_all()
        folder.send(hours(1, 2))
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            patch.setenv("AWS_MAX_RETRIES", "0")
            with pytest.raises(Exception, match="cannot read table") as caught:
                folder.publish_all()
            assert "\n" not in str(caught.value)
        assert len(folder.wal.sealed_segments()) == 1
        folder.publish_all()
        assert folder.samples() == truth_of(hours(0, 2))


PUBLISH = """
import sys
from pathlib import Path
from support.archive.folder import HOUR, MONDAY, ArchiveFolder
with ArchiveFolder(Path(sys.argv[1]), store=sys.argv[2]) as folder:
    print("ready", flush=True)
    folder.publish_all()
    folder.publish_due(MONDAY + 36 * HOUR)
print("done", flush=True)
"""


@pytest.mark.timeout(600)
def test_kills_in_the_middle_lose_nothing(store: str, tmp_path: Path) -> None:
    chance = random.Random(3)
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}:{tests.parent}"}
    rounds, done = (30 if long_run() else 6), 0
    for number in range(rounds):
        with ArchiveFolder(tmp_path, store=store) as folder:
            folder.send(hours(number, number + 1))
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH, str(tmp_path), store],
            env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 2.5))
        process.kill()
        done += "done" in process.stdout.read()
        process.wait()
        process.stdout.close()
    assert done < rounds
    with ArchiveFolder(tmp_path, store=store) as folder:
        folder.publish_all()
        assert folder.samples() == truth_of(hours(0, rounds))
        assert folder.wal.sealed_segments() == []
    assert main(["verify", store]) == 0


async def test_the_server_killed_while_it_publishes_loses_and_doubles_nothing(
    store: str, tmp_path: Path
) -> None:
    at = time.time_ns() // 1_000_000 - 60_000
    config = {"archive.yml": f"publish: {{store: '{store}'}}\n"}
    async with archiving(
        tmp_path, "--config", str(tmp_path / "archive.yml"), files=config
    ) as archive:

        async def send(number: int) -> None:
            series = [rw.later(each, number * 1000) for each in rw.many(50, {}, at)]
            assert (await archive.write(rw.request_v1(*series))).status == 204

        async def files() -> int:
            return len(await asyncio.to_thread(objects, store, "hourly/day="))

        for number in range(3):
            await send(number)
            if number:  # the publication at the end is cut off behind its first files
                before = await files()
                os.kill(archive.child.pid, signal.SIGTERM)
                await until(files, lambda got, before=before: got > before, "nothing is published")
            await archive.child.kill()
            await archive.start()
            await archive.ready()
        await send(3)
        assert await archive.stop() == 0
    published = await asyncio.to_thread(read_published, store)
    assert len(published.points) == 50
    assert {tuple(points) for points in published.points.values()} == {
        tuple((at + number * 1000, rw.bits_of(place % 7)) for number in range(4))
        for place in range(7)
    }
