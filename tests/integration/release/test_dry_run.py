"""The artefacts of a release: what they hold, and that a second build is the same.

tests/integration/test_wheel.py installs the wheel with each extra."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

import pytest
from support.deploy.files import run

from alerts.rules import ALERTS
from dashboards.boards.registry import BUILDERS
from release.artefacts import ARTEFACTS
from release.dry_run import build, check_tag, main
from release.images import build_commands
from release.settings import IMAGES, ROOT, Addresses, Release, ReleaseError, read_release

RELEASE: Final = read_release()
# The site is built by tests/contract/docs, the bills of materials need a tool of `make release-dry-run`.
QUICK: Final = ("packages", "rules", "boards", "images", "requirements")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "out"
    assert build(QUICK, folder, RELEASE) == []
    return folder


def artefact(folder: Path, part: str) -> Path:
    return folder / f"streamgauge-{RELEASE.version}{part}"


def names(path: Path) -> set[str]:
    with tarfile.open(path) as archive:
        return set(archive.getnames())


def test_every_file_has_its_checksum(built: Path) -> None:
    run("sha256sum", "--check", "--strict", "SHA256SUMS", folder=built)
    listed = {line.split("  ")[1] for line in (built / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in built.iterdir()} - {"SHA256SUMS"}


def test_a_second_build_has_the_same_checksums(built: Path, tmp_path: Path) -> None:
    build(QUICK, tmp_path / "again", RELEASE)
    assert (tmp_path / "again/SHA256SUMS").read_text() == (built / "SHA256SUMS").read_text()


def test_the_rules_hold_every_alert(built: Path, tmp_path: Path) -> None:
    with tarfile.open(artefact(built, "-rules.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    text = "".join(path.read_text() for path in (tmp_path / "rules").glob("*.rules.yml"))
    known = {f"JetStream{alert.name}" for alert in ALERTS}
    assert len(known) > 50
    assert known <= set(re.findall(r"alert: (\w+)", text))


def test_the_boards_have_the_form_of_grafana_com(built: Path, tmp_path: Path) -> None:
    with tarfile.open(artefact(built, "-boards.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    boards = [json.loads(path.read_text()) for path in (tmp_path / "boards").glob("*.json")]
    assert len(boards) == len(BUILDERS)
    for board in boards:
        assert {"__inputs", "__requires", "title"} <= board.keys()


def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(artefact(built, ".tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", folder=source)
    (wheel,) = (source / "dist").glob("*.whl")
    assert wheel.read_bytes() == artefact(built, "-py3-none-any.whl").read_bytes()


def test_the_build_files_of_every_image_are_there(built: Path) -> None:
    found = names(artefact(built, "-images.tar.gz"))
    for name in IMAGES:
        for ending in ("Dockerfile", "Dockerfile.dockerignore", "requirements.txt"):
            assert f"container/{name}.{ending}" in found


def cyclonedx() -> str | None:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return shutil.which("cyclonedx-py", path=beside)


@pytest.mark.program
@pytest.mark.skipif(not cyclonedx(), reason="cyclonedx-py is installed with `make release-dry-run`")
def test_wheel_and_images_have_a_bill_of_their_materials(built: Path, tmp_path: Path) -> None:
    assert build(["bills"], tmp_path / "out", RELEASE) == []
    parts = {"wheel": artefact(built, "-requirements.txt")} | {
        name: ROOT / f"deploy/container/{name}.requirements.txt" for name in IMAGES
    }
    for name, locked in parts.items():
        bill = json.loads(artefact(tmp_path / "out", f"-{name}.cdx.json").read_text())
        assert bill["bomFormat"] == "CycloneDX"
        subject = bill["metadata"]["component"]
        assert (subject["name"], subject["version"]) == ("streamgauge", RELEASE.version)
        listed = {(each["name"], each["version"]) for each in bill["components"]}
        wanted = re.findall(r"^([\w.-]+)==([^\s;]+)", locked.read_text(), re.MULTILINE)
        assert listed == set(wanted)
        assert all(each["purl"].startswith("pkg:pypi/") for each in bill["components"])


def test_an_image_is_pinned_labelled_and_for_two_machines() -> None:
    digest = f"sha256:{'a' * 64}"
    places = Addresses(repository="https://forge.example.com/x", images="registry.example.com/x")
    lines = build_commands(Release("1.2.3", places), "abc", digest).splitlines()
    assert len(lines) == len(IMAGES)
    for name, line in zip(IMAGES, lines, strict=True):
        assert "--platform linux/amd64,linux/arm64 " in line
        assert f"@{digest} " in line
        assert "--sbom=true" in line
        for label in ("version=1.2.3", "revision=abc", "source=https://forge.example.com/x"):
            assert f"org.opencontainers.image.{label} " in line
        assert "--build-arg VERSION=1.2.3 " in line
        assert line.endswith(f"--tag registry.example.com/x/streamgauge-{name}:1.2.3 --push .")
    bare = build_commands(Release("1.2.3", Addresses()), "abc")
    assert "--push" not in bare
    assert "image.source" not in bare


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not on PATH")
def test_wheel_chart_and_images_have_the_version_of_the_release(tmp_path: Path) -> None:
    release = Release("7.8.9rc1", Addresses())
    assert build(["packages", "chart", "images"], tmp_path / "out", release) == []
    with zipfile.ZipFile(tmp_path / "out/streamgauge-7.8.9rc1-py3-none-any.whl") as wheel:
        metadata = wheel.read("streamgauge-7.8.9rc1.dist-info/METADATA").decode()
    assert "\nVersion: 7.8.9rc1\n" in metadata
    chart = run("helm", "show", "chart", tmp_path / "out/streamgauge-7.8.9-rc1.tgz")
    assert "\nversion: 7.8.9-rc1" in chart
    assert "appVersion: 7.8.9rc1\n" in chart
    commands = (tmp_path / "out/images.txt").read_text().splitlines()
    assert all("VERSION=7.8.9rc1 " in each and ":7.8.9rc1 " in each for each in commands)


def test_a_tag_of_another_version_is_refused() -> None:
    release = Release("1.2.3", Addresses())
    check_tag(release, ())
    check_tag(release, ("v1.2.3", "nightly"))
    with pytest.raises(ReleaseError, match=r"tagged v1\.3\.0: run make cut VERSION=1\.3\.0"):
        check_tag(release, ("v1.3.0",))


def test_a_folder_of_the_user_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    assert main(["--out", str(tmp_path), "--only", "rules"]) == 1
    assert (tmp_path / "thesis.txt").exists()


def test_what_cannot_be_built_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert main(["--out", str(tmp_path / "o"), "--only", "chart", "--only", "rules"]) == 1
    output = capfd.readouterr()
    assert "left out chart: helm is not installed" in output.err
    assert "rules.tar.gz" in output.out


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not on PATH")
def test_the_packed_chart_installs_as_the_folder_does(tmp_path: Path) -> None:
    assert build(["chart"], tmp_path / "out", RELEASE) == []
    packed = artefact(tmp_path / "out", ".tgz")
    render = ("--kube-version", "1.31.0", "--set", "prometheusRule.enabled=true")
    from_package = run("helm", "template", "x", packed, *render)
    assert from_package == run("helm", "template", "x", ROOT / "deploy/helm/streamgauge", *render)
    assert "kind: PrometheusRule" in from_package


@pytest.mark.long
@pytest.mark.timeout(900)
def test_everything_is_built(tmp_path: Path) -> None:
    """With helm on PATH and the tools of `make release-dry-run`, nothing is left out."""
    needed = {"chart": ("helm", shutil.which("helm")), "bills": ("cyclonedx-py", cyclonedx())}
    absent = {part: tool for part, (tool, found) in needed.items() if not found}
    left_out = build(list(ARTEFACTS), tmp_path / "out", RELEASE)
    assert set(left_out) == {f"{part}: {tool} is not installed" for part, tool in absent.items()}
    assert artefact(tmp_path / "out", "-docs.tar.gz").stat().st_size > 100_000
