"""The formats of the rules, and the command that writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerts import thresholds
from alerts.main import main
from alerts.render_options import RenderOptions, Timing
from alerts.rendering.rule_files import helm_template, one_rule_file, operator_resource, rule_files
from alerts.rules import ALERTS, BY_NAME, FILES


def groups(text: str) -> list[dict[str, Any]]:
    document = yaml.load(text, yaml.CSafeLoader)
    found: list[dict[str, Any]] = document.get("groups") or document["spec"]["groups"]
    return found


def alerts_in(text: str) -> dict[str, dict[str, Any]]:
    return {
        rule["alert"]: rule for group in groups(text) for rule in group["rules"] if "alert" in rule
    }


def test_the_same_options_give_the_same_bytes() -> None:
    assert one_rule_file() == one_rule_file(RenderOptions())
    assert rule_files() == rule_files(RenderOptions())


def test_all_formats_have_the_same_rules() -> None:
    whole = groups(one_rule_file())
    assert [g for text in rule_files().values() for g in groups(text)] == whole
    assert groups(operator_resource()) == whole


def test_helm_renders_the_rules_of_prometheus() -> None:
    """Only the head and the addresses are a Helm template; every other brace is escaped."""
    head, _, body = helm_template().partition("  groups:\n")
    of_values = re.compile(
        r" *\{\{- if \.Values.*\n.*\n *\{\{- else \}\}\n(.*\n) *\{\{- end \}\}\n"
    )
    body, replaced = of_values.subn(r"\1", body)
    assert replaced == 2 * len(ALERTS)
    body = body.removesuffix("{{- end }}\n")
    assert head.count("{{- if ") == 1
    escaped = re.findall(r"\{\{ \"(\{\{|\}\})\" \}\}", body)
    assert len(escaped) == len(re.findall(r"\{\{|\}\}", body)) - 2 * len(escaped)
    plain = re.sub(r"\{\{ \"(\{\{|\}\})\" \}\}", r"\1", body)
    assert yaml.load(plain, yaml.CSafeLoader) == groups(one_rule_file())


def test_the_operator_gets_a_prometheus_rule() -> None:
    resource = yaml.load(operator_resource(), yaml.CSafeLoader)
    assert (resource["apiVersion"], resource["kind"]) == (
        "monitoring.coreos.com/v1",
        "PrometheusRule",
    )
    assert resource["metadata"]["name"] == "streamgauge"


def test_a_rule_adds_its_severity_and_where_owners_can_be_known_a_team() -> None:
    for name, rule in alerts_in(one_rule_file()).items():
        owned = "stream" in BY_NAME[name].when.labels
        assert set(rule["labels"]) == {"severity", *(["team"] if owned else [])}, name
        assert set(rule["annotations"]) == {
            "summary", "description", "runbook_url", "dashboard_url", *(["owner"] if owned else []),
        }, name  # fmt: skip


def test_another_threshold_changes_the_rule_and_its_text() -> None:
    chosen = thresholds.overridden(["stream_filling=2h", "meta_pending=5"])
    rules = alerts_in(one_rule_file(RenderOptions(thresholds=chosen)))
    assert "> 7200\n" in rules["JetStreamStreamFillingUp"]["expr"]
    assert "[2m]) > 5)\n" in rules["JetStreamMetaPendingHigh"]["expr"]
    reference = rules["JetStreamConsumerMessagesLost"]["annotations"]["description"]
    assert "in the last 15m" in reference


def test_speed_divides_all_waits_and_windows() -> None:
    rules = alerts_in(one_rule_file(RenderOptions(timing=Timing(speed=60))))
    assert rules["JetStreamInterestStreamDiscarding"]["for"] == "5s"
    assert 'condition="falling_behind"}) > 30\n' in rules["JetStreamConsumerBacklogGrowing"]["expr"]
    assert rules["JetStreamExporterStale"]["expr"].endswith(" > 5")
    assert rules["JetStreamSystemIdentityShared"]["expr"].count("> 60") == 1  # nothing lasts
    assert rules["JetStreamConsumerMessagesLost"]["keep_firing_for"] == "15s"
    recorded = groups(one_rule_file(RenderOptions(timing=Timing(speed=60))))[-1]
    assert recorded["interval"] == "5s"
    assert "deliveries_total[5s])" in recorded["rules"][2]["expr"]


def test_links_have_the_given_addresses() -> None:
    options = RenderOptions(
        runbooks="https://wiki.example.net/r", boards="https://grafana.example.net"
    )
    notes = alerts_in(one_rule_file(options))["JetStreamStreamFull"]["annotations"]
    assert notes["runbook_url"] == "https://wiki.example.net/r/JetStreamStreamFull.md"
    assert notes["dashboard_url"].startswith("https://grafana.example.net/d/sg-capacity?")


def test_the_command_writes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render"]) == 0
    assert capsys.readouterr().out == one_rule_file()


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("file", [f"{name}.rules.yml" for name in FILES]),
        ("operator", ["prometheusrule.yml"]),
        ("helm", ["prometheusrule.yaml"]),
    ],
)
def test_the_command_writes_files(
    form: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "rules"
    assert main(["render", "--format", form, "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert capsys.readouterr().out == "".join(f"wrote {folder / name}\n" for name in names)


def test_the_command_takes_all_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "render",
        "--set",
        "leader_changes=5",
        "--exclude",
        "stream=A",
        "--exclude",
        "stream=B",
    ]
    arguments += ["--runbooks", "https://r/", "--dashboards", "https://g/", "--speed", "10"]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    expected = RenderOptions(
        thresholds=thresholds.overridden(["leader_changes=5"]),
        timing=Timing(speed=10),
        exclusions={"stream": "A|B"},
        runbooks="https://r",
        boards="https://g",
    )
    assert output == one_rule_file(expected)
    assert 'stream!~"A|B"' in output


ERRORS = {
    "threshold": (["--set", "x=1"], "x: there is no such threshold"),
    "label": (
        ["--exclude", "subject=x"],
        "exclude subject: is not one of system, account, stream, consumer, server",
    ),
    "no expression": (["--exclude", "stream"], "exclude stream: write it as label=regex"),
    "empty expression": (
        ["--exclude", "stream="],
        "exclude stream=: Prometheus cannot parse this expression",
    ),
    "broken expression": (
        ["--exclude", "stream=("],
        "exclude stream=(: missing ), unterminated subpattern at position 0",
    ),
    "look-ahead": (
        ["--exclude", "stream=(?!A).*"],
        "exclude stream=(?!A).*: Prometheus cannot parse this expression",
    ),
    "speed": (["--speed", "0.5"], "speed 0.5: is below 1"),
}


@pytest.mark.parametrize(("arguments", "line"), ERRORS.values(), ids=ERRORS)
def test_a_wrong_argument_ends_the_command_with_one_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", *arguments]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"streamgauge alerts: {line}\n")


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["render", "--out", str(tmp_path / "taken")]) == 2
    assert capsys.readouterr().err == f"streamgauge alerts: {tmp_path / 'taken'}: File exists\n"


def test_the_thresholds_are_listed_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 79] == []
    assert "stream_full_ratio = 0.98" in lines
    assert len([line for line in lines if " = " in line]) == len(thresholds.ALL)


def test_a_name_with_odd_characters_still_makes_a_link() -> None:
    rules = alerts_in(one_rule_file())
    assert len(rules) == len(ALERTS)
    for rule in rules.values():
        url = rule["annotations"]["dashboard_url"]
        names = re.findall(r"\{\{ (?:\$|\. )[^}]*\}\}", url)
        assert all("urlquery" in action for action in names), url


def test_links_lead_to_the_exporter_unless_an_address_is_given() -> None:
    notes = alerts_in(one_rule_file())["JetStreamStreamFull"]["annotations"]
    assert "{{ .Labels.external_url }}" in notes["runbook_url"]
    assert "/docs/runbooks/JetStreamStreamFull{{ end }}" in notes["runbook_url"]
    assert "{{ .Labels.grafana_url }}/d/sg-capacity?" in notes["dashboard_url"]
    given = RenderOptions(runbooks="https://wiki.example.net", boards="https://grafana.example.net")
    notes = alerts_in(one_rule_file(given))["JetStreamStreamFull"]["annotations"]
    assert "web_info" not in notes["runbook_url"] + notes["dashboard_url"]
