"""One damaged record of the log: the others are published, and inspect shows what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.archive.folder import HOUR, MONDAY, ArchiveFolder, Reported, truth_of

from archive.tools.cli import main

SENT: list[list[Reported]] = [
    [("up", MONDAY + number * HOUR, float(number))] for number in range(3)
]


def damage_second_record(folder: ArchiveFolder) -> None:
    sizes = []
    for reported in SENT:
        folder.send(reported)
        sizes.append(folder.wal.size)
    segment = folder.wal.seal()
    assert segment is not None
    data = bytearray(segment.path.read_bytes())
    data[sizes[1] - 3] ^= 1
    segment.path.write_bytes(data)


def test_the_records_around_a_damaged_one_are_published(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        damage_second_record(folder)
        folder.publish_all()
        assert folder.samples() == truth_of([*SENT[0], *SENT[2]])
        assert folder.wal.damaged > 0


@pytest.mark.parametrize("published", [False, True], ids=["waiting", "published"])
def test_inspect_shows_the_damage_and_how_to_bring_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], published: bool
) -> None:
    with ArchiveFolder(tmp_path) as folder:
        damage_second_record(folder)
        if published:
            folder.publish_all()
    assert main(["inspect", str(tmp_path), "--json"]) == 0
    (damage,) = json.loads(capsys.readouterr().out)["log"]["damaged"]
    name = "0000000001.wal.damaged" if published else "0000000001.wal"
    assert (damage["file"], damage["reason"]) == (name, "has a record whose checksum is wrong")
    assert damage["bytes"] > 0
    assert damage["from"] <= damage["to"]
    assert main(["inspect", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert f"damaged: {name} has a record whose checksum is wrong at byte" in text
    assert f"from the storage of the sender: {', '.join(damage['senders'])}" in text
    shown = text[text.index("damaged: ") : text.index("the sender: ")]
    assert max(map(len, shown.splitlines())) <= 80
