"""`streamgauge dashboards render`: every format, every option, and errors in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.boards.registry import all_boards
from dashboards.main import main
from dashboards.panels.limits import limits
from dashboards.rendering.formats import FORMATS

UIDS = {f"sg-{board.key}" for board in all_boards(limits())}


def render(folder: Path, *arguments: str) -> dict[str, str]:
    assert main(["render", "--out", str(folder), *arguments]) == 0
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def error_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["render", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err


def test_files_are_the_boards(tmp_path: Path) -> None:
    files = render(tmp_path / "new" / "folder")
    assert set(files) == {f"{uid}.json" for uid in UIDS}
    assert {json.loads(text)["uid"] for text in files.values()} == UIDS


def test_grafana_com_gets_its_fields(tmp_path: Path) -> None:
    files = render(tmp_path, "--format", "grafana-com")
    board = json.loads(files["sg-fleet.json"])
    assert board["__inputs"] == []
    assert board["id"] is None
    required = {each["id"] for each in board["__requires"]}
    assert required >= {"grafana", "prometheus", "timeseries", "table", "state-timeline"}
    assert "\n- **Servers missing**: " in files["sg-fleet.md"]


def test_every_config_map_holds_its_board(tmp_path: Path) -> None:
    files = render(tmp_path, "--format", "configmap")
    for uid in UIDS:
        resource = yaml.safe_load(files[f"{uid}.yaml"])
        assert resource["kind"] == "ConfigMap"
        assert resource["metadata"]["labels"] == {"grafana_dashboard": "1"}
        assert json.loads(resource["data"][f"{uid}.json"])["uid"] == uid


def test_every_operator_resource_holds_its_board(tmp_path: Path) -> None:
    files = render(tmp_path, "--format", "operator", "--uid-prefix", "Team_A-")
    resource = yaml.safe_load(files["Team_A-fleet.yaml"])
    assert resource["kind"] == "GrafanaDashboard"
    assert resource["metadata"]["name"] == "streamgauge-team-a-fleet"
    assert json.loads(resource["spec"]["json"])["uid"] == "Team_A-fleet"


def test_terraform_takes_every_file_of_its_folder(tmp_path: Path) -> None:
    files = render(tmp_path, "--format", "terraform")
    assert {name for name in files if name.startswith("boards/")} == {
        f"boards/{uid}.json" for uid in UIDS
    }
    assert 'fileset("${path.module}/boards", "*.json")' in files["main.tf"]
    assert files["main.tf"].count("{") == files["main.tf"].count("}")


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_arguments_write_the_same_bytes(tmp_path: Path, form: str) -> None:
    first = render(tmp_path / "1", "--format", form)
    assert first == render(tmp_path / "2", "--format", form)


def test_a_chosen_threshold_moves_lines_and_queries(tmp_path: Path) -> None:
    files = render(tmp_path, "--set", "dedupe_memory=1MiB", "--set", "dedupe_id_memory=100B")
    publish = json.loads(files["sg-publish.json"])
    steps = panel(publish, "Memory of message ids")["fieldConfig"]["defaults"]
    assert steps["thresholds"]["steps"][-1]["value"] == 1 << 20
    assert panel(publish, "Memory of message ids")["targets"][0]["expr"].endswith("* 100")


def test_runbooks_are_pages_of_the_exporter_unless_an_address_is_given(tmp_path: Path) -> None:
    without = json.loads(render(tmp_path / "1")["sg-fleet.json"])
    (link,) = panel(without, "Alerts over time")["fieldConfig"]["defaults"]["links"]
    assert link["url"] == "${exporter}/docs/runbooks/${__field.labels.alertname}"
    files = render(tmp_path / "2", "--runbooks", "https://wiki.example/runbooks/")
    (link,) = panel(json.loads(files["sg-fleet.json"]), "Alerts over time")["fieldConfig"][
        "defaults"
    ]["links"]
    assert link["url"] == "https://wiki.example/runbooks/${__field.labels.alertname}.md"


def panel(board: dict[str, Any], title: str) -> dict[str, Any]:
    (found,) = [each for each in board["panels"] if each["title"] == title]
    return dict(found)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "the following arguments are required: --out"),
        (("--out", "x", "--format", "xml"), "invalid choice: 'xml'"),
        (("--out", "x", "--set", "redelivery_ratio"), "--set redelivery_ratio: write it as"),
        (("--out", "x", "--set", "rollup=1"), "did you mean rollup_age?"),
        (("--out", "x", "--set", "account_full_ratio=5m"), "account_full_ratio=5m: is not a ratio"),
        (("--out", "x", "--set", "redelivery_ratio=20"), "redelivery_ratio=20: is not a ratio"),
        (("--out", "x", "--uid-prefix", "a/b"), "--uid-prefix 'a/b': only letters"),
        (("--out", "x", "--uid-prefix", "a" * 40), "is longer than"),
        (("--out", "x", "--tag", ""), "--tag '': is not a tag"),
        (("--out", "x", "--runbooks", "wiki"), "--runbooks 'wiki': is not an address"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], line: str
) -> None:
    assert line in error_line(capsys, *arguments)


def test_a_folder_that_cannot_be_created_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["render", "--out", str(tmp_path / "file" / "below")]) == 1
    assert capsys.readouterr().err == (
        f"streamgauge dashboards: {tmp_path / 'file' / 'below'}: Not a directory\n"
    )


def test_a_name_with_a_line_break_cannot_break_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\\n" in error_line(capsys, "--out", "x", "--set", "a\nb=1")
