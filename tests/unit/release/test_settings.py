"""One file of addresses: what is set appears everywhere, what is not set nowhere."""

from __future__ import annotations

import datetime
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.cut import cut_changelog, cut_settings, order
from release.generate import END, generated
from release.settings import ROOT, SETTINGS, Addresses, Release, ReleaseError, parse, read_release

EVERYWHERE = Addresses(
    repository="https://forge.example.com/team/streamgauge",
    documentation="https://docs.example.com/streamgauge",
    package="streamgauge",
    images="registry.example.com/team",
    charts="oci://registry.example.com/team/charts",
    security="mailto:security@example.com",
)


def texts(addresses: Addresses) -> dict[str, str]:
    release = Release("1.2.3", addresses)
    return {str(path.relative_to(ROOT)): text for path, text in generated(release).items()}


def test_every_generated_file_is_fresh() -> None:
    stale = [str(path) for path, text in generated(read_release()).items() if path.read_text() != text]  # fmt: skip
    assert not stale, "run make generate"


def test_what_is_set_is_found_in_every_file_that_needs_it() -> None:
    found = texts(EVERYWHERE)
    urls = tomllib.loads(found["pyproject.toml"])["project"]["urls"]
    assert urls["Issues"] == "https://forge.example.com/team/streamgauge/issues"
    assert urls["Security"] == "mailto:security@example.com"
    assert "site_url: https://docs.example.com/streamgauge/\n" in found["mkdocs.yml"]
    chart = yaml.safe_load(found["deploy/helm/streamgauge/Chart.yaml"])
    assert chart["sources"] == [EVERYWHERE.repository]
    values = yaml.safe_load(found["deploy/helm/streamgauge/values.yaml"])
    assert values["images"]["registry"] == EVERYWHERE.images
    compose = found["deploy/compose/compose.yaml"]
    assert "-registry.example.com/team/streamgauge-archive:1.2.3}" in compose
    sidecar = found["deploy/kubernetes/examples/nats-chart-sidecar.yaml"]
    assert "image: registry.example.com/team/streamgauge-exporter:1.2.3\n" in sidecar
    page = found["docs/install.md"]
    assert "uv tool install 'streamgauge[exporter]'" in page
    assert "helm install streamgauge oci://registry.example.com/team/charts/streamgauge" in page
    assert "REGISTRY" not in page.partition("## Build")[0]


@pytest.mark.parametrize("name", [each.name for each in fields(Addresses)])
def test_an_address_that_is_not_set_leaves_nothing_behind(name: str) -> None:
    kept = {each.name: getattr(EVERYWHERE, each.name) for each in fields(Addresses)}
    for path, text in texts(Addresses(**(kept | {name: ""}))).items():
        for half in re.findall(r"https?:///|oci:///|[(\"' ]/streamgauge|: */(?:issues|blob)", text):
            pytest.fail(f"{path}: {half}")
    bare = texts(Addresses())
    assert "[project.urls]" not in bare["pyproject.toml"]
    assert not any("example.com/team/streamgauge" in text for text in bare.values())


def test_a_version_is_the_same_in_every_file() -> None:
    found = texts(Addresses())
    assert "version" not in tomllib.loads(found["pyproject.toml"])["project"]  # of the tag
    assert yaml.safe_load(found["deploy/helm/streamgauge/Chart.yaml"])["appVersion"] == "1.2.3"
    assert found["deploy/compose/compose.yaml"].count(":1.2.3}") == 3


def test_the_plain_manifests_are_of_the_version_of_the_release() -> None:
    """Only helm writes them: `make generate` without it leaves them as they are."""
    text = (ROOT / "deploy/kubernetes/streamgauge.yaml").read_text()
    release = read_release()
    labels = re.findall(r'app\.kubernetes\.io/version: "(.*)"', text)
    images = re.findall(r'image: "(.*/)?streamgauge-\w+:(.*)"', text)
    assert set(labels) == {release.version}
    assert {tag for _, tag in images} == {release.image_tag}


@pytest.mark.parametrize(
    ("version", "chart", "tag"),
    [
        ("1.2.3", "1.2.3", "1.2.3"),
        ("1.2.3rc1", "1.2.3-rc1", "1.2.3rc1"),
        ("1.2.4.dev5+gabc", "1.2.4-dev.5+gabc", "1.2.4.dev5-gabc"),
        ("1.2.3rc2.dev5+gabc", "1.2.3-rc2.dev.5+gabc", "1.2.3rc2.dev5-gabc"),
    ],
)
def test_charts_and_images_have_versions_of_their_own_form(
    version: str, chart: str, tag: str
) -> None:
    release = Release(version, Addresses())
    assert (release.chart_version, release.image_tag) == (chart, tag)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"version": "1.2"}, "version '1.2' is not like"),
        ({"version": "1.2.3", "adresses": {}}, "unknown key adresses"),
        ({"version": "1.2.3", "addresses": {"image": ""}}, "unknown key image"),
        ({"version": "1.2.3", "addresses": {"repository": "git@host:x"}}, "addresses.repository"),
        ({"version": "1.2.3", "addresses": {"images": "https://host/x"}}, "addresses.images"),
        ({"version": "1.2.3", "addresses": {"charts": "host/x"}}, "addresses.charts"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(message)) as caught:
        parse(given, "release.toml")
    assert "release.toml" in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("version = ")
    for name in ("absent.toml", "broken.toml"):
        with pytest.raises(ReleaseError, match=name):
            read_release(tmp_path / name)


TODAY = datetime.date(2026, 12, 1)


def test_a_cut_dates_what_was_unreleased_and_loses_nothing() -> None:
    released = (ROOT / "CHANGELOG.md").read_text()
    text = released.replace("## Unreleased\n", "## Unreleased\n- a change\n", 1)
    after = cut_changelog(text, "9.9.9", TODAY)
    assert "## Unreleased\n\n## 9.9.9 - 2026-12-01\n- a change\n" in after
    assert after.replace("\n## 9.9.9 - 2026-12-01\n", "", 1) == text
    settings = tomllib.loads(cut_settings(SETTINGS.read_text(), "9.9.9"))
    assert parse(settings, "x").version == "9.9.9"


def test_a_release_names_each_subject_of_the_changelog_once() -> None:
    for section in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        subjects = re.findall("^### (.*)$", section, re.MULTILINE)
        assert len(subjects) == len(set(subjects)), section.partition("\n")[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Changelog\n", "no section"),
        ("## Unreleased\n\n## 0.1.0 - 2026-01-01\n- x\n", "nothing is unreleased"),
        ("## Unreleased\n- y\n\n## 1.0.0 - 2026-01-01\n- x\n", "has a section 1.0.0"),
    ],
)
def test_a_changelog_that_cannot_be_cut_is_refused(text: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        cut_changelog(text, "1.0.0", TODAY)


def test_versions_are_ordered() -> None:
    ordered = ["0.9.9", "0.10.0a1", "0.10.0b2", "0.10.0rc1", "0.10.0rc10", "0.10.0"]
    assert [order(each) for each in ordered] == sorted({order(each) for each in ordered})


def test_the_marks_stand_once_in_each_file() -> None:
    for name in ("pyproject.toml", "mkdocs.yml", "deploy/helm/streamgauge/Chart.yaml"):
        assert (ROOT / name).read_text().count(END) == 1, name
