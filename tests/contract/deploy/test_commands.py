"""deploy/ uses existing commands, flags, variables and settings only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml
from support.collected import over_all
from support.deploy.files import (
    CHART,
    COMPOSE,
    DEPLOY,
    Command,
    all_commands,
    flags_of,
    load,
    of_kind,
    read_commands,
)

from archive.settings.config import ArchiveSettings
from archive.settings.flags import FLAGS as ARCHIVE_FLAGS
from exporter.settings.config import ExporterSettings
from exporter.settings.flags import CONFIG_VARIABLE
from exporter.settings.options import setting_variables
from streamgauge.serving.settings.loader import build

COMMANDS: Final = all_commands()
VARIABLE: Final = re.compile(r"\bSTREAMGAUGE_[A-Z_]+")
VARIABLES: Final = {
    *setting_variables(),
    CONFIG_VARIABLE,
    *(flag.variable for flag in ARCHIVE_FLAGS),
}


@over_all(COMMANDS, "correct the flag in deploy", lambda each: f"{each.place}: {each.name}")
def test_every_flag_that_is_given_exists(command: Command) -> None:
    assert set(command.flags) - flags_of(command.name) == set()


def test_every_part_is_started_by_every_way() -> None:
    names = {"exporter", "archive", "rollup", "report"}
    for places in (r"compose .*", r".*\.service", r"streamgauge-(exporter|archive|rollups|report)"):
        started = {each.name for each in COMMANDS if re.fullmatch(places, each.place)}
        assert started == names, places


def test_a_flag_that_does_not_exist_is_found() -> None:
    (command,) = read_commands("x", "streamgauge archive --data /x --nonsense $(date --utc)")
    assert command.flags == ("--data", "--nonsense")
    assert "--nonsense" not in flags_of("archive")


def without_comments(path: Path) -> str:
    return re.sub(r"(^|\s)#.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_every_variable_that_is_set_exists() -> None:
    texts = [p for p in DEPLOY.rglob("*") if p.is_file() and "boards" not in p.parts]
    named = {word for path in texts for word in VARIABLE.findall(without_comments(path))}
    assert "STREAMGAUGE_ARCHIVE_DATA" in named
    assert named <= VARIABLES


EXPORTER_FILES: Final[dict[str, dict[str, Any]]] = {
    "compose": load(COMPOSE / "exporter.yml"),
    "systemd": load(DEPLOY / "systemd" / "exporter.yml"),
    "chart": load(CHART / "values.yaml")["exporter"]["config"],
    "manifests": yaml.safe_load(
        next(m["data"]["exporter.yml"] for m in of_kind("ConfigMap") if "exporter.yml" in m["data"])
    ),
}
ARCHIVE_FILES: Final[dict[str, dict[str, Any]]] = {
    "compose": load(COMPOSE / "archive.yml"),
    "systemd": load(DEPLOY / "systemd" / "archive.yml"),
    "chart": {"data": "/x", **load(CHART / "values.yaml")["archive"]["config"]},
    "manifests": yaml.safe_load(
        next(m["data"]["archive.yml"] for m in of_kind("ConfigMap") if "archive.yml" in m["data"])
    ),
}


@over_all(EXPORTER_FILES, "correct the settings of the exporter in deploy")
def test_the_settings_of_the_exporter_are_accepted(name: str) -> None:
    settings = build(ExporterSettings, EXPORTER_FILES[name], name)
    assert settings.systems
    assert settings.web.listen_address.endswith(":7778")


@over_all(ARCHIVE_FILES, "correct the settings of the archive in deploy")
def test_the_settings_of_the_archive_are_accepted(name: str) -> None:
    settings = build(ArchiveSettings, ARCHIVE_FILES[name], name)
    assert settings.web.listen_address.endswith(":7779")


@over_all(EXPORTER_FILES, "correct the settings of the exporter in deploy")
def test_the_settings_contain_no_password(name: str) -> None:
    for system in EXPORTER_FILES[name]["systems"]:
        assert "password" not in system
        assert "token" not in system


def test_there_is_no_python_here() -> None:
    assert not list(DEPLOY.rglob("*.py"))
