"""The Alertmanager configuration on the real Alertmanager: routes, grouping, silence, texts."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from promtool.alertmanager_process import amtool, running
from support.waiting import until

from alerts.generate import ROOT
from alerts.rendering.alertmanager import document
from alerts.rule import PREFIX, Alert, Severity
from alerts.rules import ALERTS, BY_NAME

CONFIGURATION = ROOT / "alerts" / "generated" / "alertmanager.yml"
TEMPLATES = ROOT / "alerts" / "templates"
Labels = Mapping[str, str]
Quiet = set[frozenset[tuple[str, str]]]

ASSET = {
    "system": "prod", "account": "APP", "stream": "ORDERS", "consumer": "worker", "server": "n1",
    "limit": "bytes",
}  # fmt: skip
ELSEWHERE = {**ASSET, "account": "B", "stream": "OTHER", "consumer": "other", "server": "n2"}


def run(*command: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout


def labels(name: str, asset: Labels = ASSET) -> dict[str, str]:
    """The labels with which this alert would arrive."""
    alert = BY_NAME[PREFIX + name]
    own = {label: asset[label] for label in alert.when.possible if label in asset}
    return {"alertname": alert.full_name, "severity": alert.severity.value, **own}


def test_amtool_accepts_the_configuration() -> None:
    said = run(amtool(), "check-config", CONFIGURATION)
    assert "SUCCESS" in said
    assert "1 templates" in said


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each.name)
def test_an_alert_goes_to_the_people_of_its_severity(alert: Alert) -> None:
    own = [f"{key}={value}" for key, value in labels(alert.name).items()]
    receiver = {"critical": "page", "warning": "ticket", "info": "info", "none": "watchdog"}
    said = run(amtool(), "config", "routes", "test", f"--config.file={CONFIGURATION}", *own)
    assert said.strip() == receiver[alert.severity.value]


def test_one_broken_stream_is_one_page() -> None:
    pages = next(r for r in document()["route"]["routes"] if r["receiver"] == "page")
    assert pages["group_by"] == ["system", "account", "stream"]


def test_no_secret_stands_in_the_configuration() -> None:
    text = CONFIGURATION.read_text(encoding="utf-8")
    secrets = re.findall(
        r"^[ -]*(\S*(?:password|key|token|credentials|api_url)\S*): (.*)$", text, re.MULTILINE
    )
    assert len(secrets) >= 4
    for key, value in secrets:
        assert key.endswith("_file"), key
        assert value.startswith("/etc/alertmanager/secrets/"), key


def test_every_alert_that_the_configuration_names_exists() -> None:
    for rule in document()["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            if matcher.startswith("alertname"):
                for name in matcher.partition('"')[2].rstrip('"').split("|"):
                    assert any(re.fullmatch(name, known) for known in BY_NAME), name


async def quiet_among(
    address: str, sent: Iterable[Labels], enough: Callable[[Quiet], bool]
) -> Quiet:
    """Which of these alerts Alertmanager would not tell anybody, once it has thought it over."""
    async with aiohttp.ClientSession(address) as session:
        body = [{"labels": each} for each in sent]
        async with session.post("/api/v2/alerts", json=body) as answer:
            assert answer.status == 200, await answer.text()

        async def quiet() -> Quiet:
            async with session.get("/api/v2/alerts") as answer:
                found = await answer.json()
            assert {key(a["labels"]) for a in found} == {key(each["labels"]) for each in body}
            return {frozenset(a["labels"].items()) for a in found if a["status"]["inhibitedBy"]}

        return await until(quiet, enough, "others stay quiet")


def key(each: Labels) -> frozenset[tuple[str, str]]:
    return frozenset(each.items())


# What speaks, what it makes quiet on the same asset, and what must still be heard there.
INHIBITIONS = {
    "ServerDown": (
        ["StreamReplicaOffline", "StreamReplicaLagging", "MetaPeerOffline"],
        ["StreamNoLeader", "ServerStorageHigh", "StreamReplicasDiverged"],
    ),
    "MetaLeaderMissing": (
        ["ServerUnhealthy", "ConsumerBacklogGrowing", "ConfigFinding", "StreamMirrorStale"],
        ["StreamNoLeader", "ConsumerStalled", "StreamFull"],
    ),
    "StreamNoLeader": (
        ["ConsumerNoLeader", "ConsumerStalled", "ConsumerBacklogGrowing", "ConsumerRecreated"],
        ["StreamDataLost", "StreamReplicaOffline", "OwnerLimitExceeded"],
    ),
    "ConsumerAckPendingFull": (
        ["ConsumerStalled", "ConsumerAckPendingHigh", "ConsumerRedeliveryHigh"],
        ["ConsumerMessagesLost", "ConsumerMessagesAbandoned"],
    ),
    "ConsumerAckFloorStalled": (["ConsumerAckWaitTooShort"], ["ConsumerRedeliveryHigh"]),
    "ConsumerNakLoop": (["ConsumerRedeliveryHigh"], ["ConsumerMessagesAbandoned"]),
    "ConsumerStalled": (["ConsumerBacklogGrowing"], ["ConsumerMessagesLost"]),
    "StreamFull": (["StreamFillingUp", "StreamForecastFull"], ["PublishesNotStored"]),
    "AccountStorageFull": (["AccountStorageHigh"], ["StreamFull"]),
}


@pytest.mark.parametrize("source", INHIBITIONS)
async def test_what_follows_from_a_fault_stays_quiet_on_that_asset_only(
    source: str, tmp_path: Path
) -> None:
    """A system of its own for each pair, or the others would have their say too."""
    quiet, heard = INHIBITIONS[source]
    sent, expected = [], set()
    for name in (*quiet, *heard):
        here, there = {**ASSET, "system": name}, {**ELSEWHERE, "system": name}
        sent += [labels(source, here), labels(name, here), labels(name, there)]
        if name in quiet:
            # Only MetaLeaderMissing speaks for a whole system.
            assets = [here, there] if source == "MetaLeaderMissing" else [here]
            expected |= {key(labels(name, asset)) for asset in assets}
    async with running(CONFIGURATION, tmp_path) as address:
        await quiet_among(address, sent, lambda quiet: quiet == expected)


async def test_nothing_mutes_the_pages_of_a_whole_system(tmp_path: Path) -> None:
    """Whatever speaks on one asset, every page of another is heard."""
    pages = [alert.name for alert in ALERTS if alert.severity is Severity.CRITICAL]
    sent, expected = [], set()
    for page in pages:
        here, there = {**ASSET, "system": page}, {**ELSEWHERE, "system": page}
        sent += [labels(page, there), *(labels(source, here) for source in INHIBITIONS)]
        expected.add(key(labels(page, there)))
    async with running(CONFIGURATION, tmp_path) as address:
        muted = await quiet_among(address, sent, bool)
    assert expected & muted == set()
    assert muted, "on the one asset they do mute each other"


def message(*alerts: Mapping[str, Any]) -> dict[str, Any]:
    """What Alertmanager gives to a template."""
    own = [alert["labels"] for alert in alerts]
    common = {k: v for k, v in own[0].items() if all(each.get(k) == v for each in own)}
    status = "firing" if any(alert["status"] == "firing" for alert in alerts) else "resolved"
    return {
        "receiver": "page", "status": status, "alerts": list(alerts), "groupLabels": {},
        "commonLabels": common, "commonAnnotations": {}, "externalURL": "http://alertmanager",
    }  # fmt: skip


def told(name: str, status: str = "firing", **changes: str) -> dict[str, Any]:
    own = {**labels(name), **changes}
    return {
        "status": status,
        "labels": own,
        "annotations": {
            "summary": BY_NAME[PREFIX + name].summary,
            "description": f"What happened to {own.get('consumer', 'it')}.",
            "runbook_url": f"https://wiki.example.net/{PREFIX}{name}.md",
            "dashboard_url": "https://grafana.example.net/d/x?orgId=1&var-system=prod",
        },
        "startsAt": "2026-01-02T03:04:05Z",
        "endsAt": "2026-01-02T03:34:05Z",
    }


STALLED = told("ConsumerStalled")
STALLED_TEXT = """\
A consumer gets no messages although some wait for it.
What happened to worker.
Since 03:04 UTC, 2 Jan
What to do: https://wiki.example.net/JetStreamConsumerStalled.md
See: https://grafana.example.net/d/x?orgId=1&var-system=prod
"""
MANY = [told("ConsumerStalled", consumer=f"worker-{number}") for number in range(7)]
RENDERED = {
    "one page": (
        "title", message(STALLED), "PAGE: ConsumerStalled worker on ORDERS [prod]",
    ),
    "several in one page": (
        "title",
        message(STALLED, told("StreamFull"), told("ConsumerNoLeader", "resolved")),
        "PAGE: ConsumerStalled worker on ORDERS (+1 more) [prod]",
    ),
    "a ticket of a server": (
        "title", message(told("ServerDown")), "Firing: ServerDown n1 [prod]",
    ),
    "an exporter": (
        "title",
        message({**STALLED, "labels": {"alertname": "JetStreamExporterDown", "severity": "warning",
                                       "instance": "a:7778"}}),
        "Firing: ExporterDown a:7778",
    ),
    "over": (
        "title",
        message(told("ConsumerStalled", "resolved")),
        "Over: ConsumerStalled worker on ORDERS [prod]",
    ),
    "the text": ("text", message(STALLED), f"{STALLED_TEXT}\n"),
    "the text when all is over": (
        "text",
        message(told("ConsumerStalled", "resolved")),
        "Over: ConsumerStalled worker on ORDERS, from 03:04 to 03:34 UTC.\n",
    ),
    "the link": (
        "link", message(STALLED), "https://grafana.example.net/d/x?orgId=1&var-system=prod",
    ),
    "the colour of a page": ("color", message(STALLED), "danger"),
    "the colour of a ticket": ("color", message(told("ServerDown")), "warning"),
    "the colour of the end": ("color", message(told("ServerDown", "resolved")), "good"),
}  # fmt: skip


def rendered(folder: Path, template: str, data: Mapping[str, Any]) -> str:
    file = folder / "data.json"
    file.write_text(json.dumps(data))
    return run(
        amtool(), "template", "render", f"--template.glob={TEMPLATES}/*.tmpl",
        f'--template.text={{{{ template "streamgauge.{template}" . }}}}',
        f"--template.data={file}",
    )  # fmt: skip


@pytest.mark.parametrize(("template", "data", "text"), RENDERED.values(), ids=RENDERED)
def test_a_notification_reads_well(
    template: str, data: dict[str, Any], text: str, tmp_path: Path
) -> None:
    assert rendered(tmp_path, template, data).rstrip("\n") == text.rstrip("\n")


def test_a_crowd_is_named_and_not_told_at_length(tmp_path: Path) -> None:
    lines = rendered(tmp_path, "text", message(*MANY)).splitlines()
    assert len([line for line in lines if line.startswith("What to do")]) == 5
    assert lines[-2:] == [f"Also: ConsumerStalled worker-{n} on ORDERS" for n in (5, 6)]


def test_the_mail_holds_the_same(tmp_path: Path) -> None:
    html = rendered(tmp_path, "html", message(STALLED, told("StreamFull", "resolved")))
    assert "<b>A consumer gets no messages although some wait for it.</b>" in html
    assert '<a href="https://wiki.example.net/JetStreamConsumerStalled.md">' in html
    assert "<p>Over: StreamFull ORDERS</p>" in html


def test_every_template_that_the_configuration_names_exists() -> None:
    known = set()
    for path in TEMPLATES.glob("*.tmpl"):
        known |= set(re.findall(r'define "([^"]+)"', path.read_text(encoding="utf-8")))
    used = set(re.findall(r'template "([^"]+)"', yaml.safe_dump(document(), width=10_000)))
    assert used
    assert used <= known
