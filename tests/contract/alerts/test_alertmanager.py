"""The configuration in the real Alertmanager: routes, grouping, inhibitions, templates."""

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
from support.alert_pipeline.alertmanager import amtool, running
from support.waiting import until

from alerts.generate import ROOT
from alerts.open_alerts import PREFIX
from alerts.rendering.alertmanager import document
from alerts.rule import Alert, Severity
from alerts.rules import ALERTS, BY_NAME

CONFIGURATION = ROOT / "alerts" / "generated" / "alertmanager.yml"
TEMPLATES = ROOT / "alerts" / "templates"
Labels = Mapping[str, str]
Muted = set[frozenset[tuple[str, str]]]

ASSET = {
    "system": "prod", "account": "APP", "stream": "ORDERS", "consumer": "worker", "server": "n1",
    "limit": "bytes",
}  # fmt: skip
ELSEWHERE = {**ASSET, "account": "B", "stream": "OTHER", "consumer": "other", "server": "n2"}


def run(*command: str | Path) -> str:
    return subprocess.run(
        [str(argument) for argument in command], capture_output=True, text=True, check=True
    ).stdout


def labels(name: str, asset: Labels = ASSET) -> dict[str, str]:
    """The labels with which this alert would arrive."""
    alert = BY_NAME[PREFIX + name]
    own = {label: asset[label] for label in alert.when.possible if label in asset}
    return {"alertname": alert.full_name, "severity": alert.severity.value, **own}


@pytest.mark.program
def test_amtool_accepts_the_configuration() -> None:
    output = run(amtool(), "check-config", CONFIGURATION)
    assert "SUCCESS" in output
    assert "1 templates" in output


def receiver_of(alert: Alert) -> str:
    own = [f"{key}={value}" for key, value in labels(alert.name).items()]
    return run(amtool(), "config", "routes", "test", f"--config.file={CONFIGURATION}", *own).strip()


@pytest.mark.program
def test_every_alert_goes_to_the_receiver_of_its_severity() -> None:
    receivers = {"critical": "page", "warning": "ticket", "info": "info", "none": "watchdog"}
    found = {alert.name: (receiver_of(alert), receivers[alert.severity.value]) for alert in ALERTS}
    wrong = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    assert not wrong, f"correct the routes in alerts/rendering/alertmanager.py: {wrong}"


def test_one_broken_stream_is_one_page() -> None:
    pages = next(r for r in document()["route"]["routes"] if r["receiver"] == "page")
    assert pages["group_by"] == ["cluster", "namespace", "job", "system", "account", "stream"]


def test_the_configuration_has_no_secret() -> None:
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


async def muted_among(
    address: str, sent: Iterable[Labels], enough: Callable[[Muted], bool]
) -> Muted:
    """The alerts that Alertmanager mutes, once it has evaluated the inhibitions."""
    async with aiohttp.ClientSession(address) as session:
        body = [{"labels": each} for each in sent]
        async with session.post("/api/v2/alerts", json=body) as response:
            assert response.status == 200, await response.text()

        async def muted_alerts() -> Muted:
            async with session.get("/api/v2/alerts") as response:
                found = await response.json()
            assert {key(a["labels"]) for a in found} == {key(each["labels"]) for each in body}
            return {frozenset(a["labels"].items()) for a in found if a["status"]["inhibitedBy"]}

        return await until(muted_alerts, enough, "alerts are muted")


def key(each: Labels) -> frozenset[tuple[str, str]]:
    return frozenset(each.items())


# Source, targets on the same asset, and alerts of that asset that must not be muted.
INHIBITIONS = {
    "SystemUnreachable": (
        ["ServerDown", "ExporterStale", "ConsumerBacklogGrowing"],
        ["StreamNoLeader", "ConsumerStalled", "SystemUnmonitored"],
    ),
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
        [
            "ConsumerStalled",
            "ConsumerAckPendingHigh",
            "ConsumerRedeliveryHigh",
            "ConsumerAckFloorGapHigh",
        ],
        ["ConsumerMessagesLost", "ConsumerMessagesAbandoned"],
    ),
    "ConsumerRedeliveryLoop": (
        ["ConsumerStalled", "ConsumerNakLoop", "ConsumerAckFloorGapHigh"],
        ["ConsumerMessagesLost", "ConsumerMessagesAbandoned"],
    ),
    "ConsumerNoWorkerPulls": (["ConsumerAckFloorStalled"], ["ConsumerMessagesAbandoned"]),
    "ConsumerAckWaitTooShort": (["ConsumerRedeliveryHigh"], ["ConsumerMessagesAbandoned"]),
    "StreamRecreated": (["ConsumerRecreated", "ConsumerRemoved"], ["StreamDataLost"]),
    "PublishConflictsHigh": (["PublishesNotStored"], ["StreamFull"]),
    "WorkqueueStuckMessages": (["ConsumerMessagesAbandoned"], ["ConsumerRedeliveryHigh"]),
    "ConsumerAckFloorStalled": (["ConsumerAckWaitTooShort"], ["ConsumerRedeliveryHigh"]),
    "ConsumerNakLoop": (["ConsumerRedeliveryHigh"], ["ConsumerMessagesAbandoned"]),
    "ConsumerStalled": (["ConsumerBacklogGrowing"], ["ConsumerMessagesLost"]),
    "StreamFull": (["StreamFillingUp", "StreamForecastFull"], ["PublishesNotStored"]),
    "AccountStorageFull": (["AccountStorageHigh"], ["StreamFull"]),
}


# About a whole system: an asset elsewhere is in it too.
WHOLE_SYSTEM = ("MetaLeaderMissing", "SystemUnreachable")


@pytest.mark.program
@pytest.mark.parametrize("source", INHIBITIONS)
async def test_an_inhibition_mutes_only_its_targets_on_the_same_asset(
    source: str, tmp_path: Path
) -> None:
    """Each pair has its own system, so that pairs do not affect each other. The same names in another
    cluster are another asset."""
    muted_alerts, unmuted = INHIBITIONS[source]
    sent, expected = [], set()
    for name in (*muted_alerts, *unmuted):
        here, there = {**ASSET, "system": name}, {**ELSEWHERE, "system": name}
        elsewhere = {**labels(name, here), "cluster": "staging"}
        sent += [labels(source, here), labels(name, here), labels(name, there), elsewhere]
        if name in muted_alerts:
            assets = [here, there] if source in WHOLE_SYSTEM else [here]
            expected |= {key(labels(name, asset)) for asset in assets}
    async with running(CONFIGURATION, tmp_path) as address:
        await muted_among(address, sent, lambda muted_alerts: muted_alerts == expected)


@pytest.mark.program
async def test_nothing_mutes_the_pages_of_a_whole_system(tmp_path: Path) -> None:
    """Alerts of one asset never mute a page of another."""
    pages = [alert.name for alert in ALERTS if alert.severity is Severity.CRITICAL]
    sent, expected = [], set()
    for page in pages:
        here, there = {**ASSET, "system": page}, {**ELSEWHERE, "system": page}
        sent += [labels(page, there), *(labels(source, here) for source in INHIBITIONS)]
        expected.add(key(labels(page, there)))
    async with running(CONFIGURATION, tmp_path) as address:
        muted = await muted_among(address, sent, bool)
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


def alert_of(name: str, status: str = "firing", **changes: str) -> dict[str, Any]:
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


STALLED = alert_of("ConsumerStalled")
STALLED_TEXT = """\
A consumer gets no messages although some wait for it.
What happened to worker.
Since 03:04 UTC, 2 Jan
What to do: https://wiki.example.net/JetStreamConsumerStalled.md
See: https://grafana.example.net/d/x?orgId=1&var-system=prod
"""
MANY = [alert_of("ConsumerStalled", consumer=f"worker-{number}") for number in range(7)]
RENDERED = {
    "one page": (
        "title", message(STALLED), "PAGE: ConsumerStalled worker on ORDERS [prod]",
    ),
    "several in one page": (
        "title",
        message(STALLED, alert_of("StreamFull"), alert_of("ConsumerNoLeader", "resolved")),
        "PAGE: ConsumerStalled worker on ORDERS (+1 more) [prod]",
    ),
    "a ticket of a server": (
        "title", message(alert_of("ServerDown")), "Firing: ServerDown n1 [prod]",
    ),
    "an exporter": (
        "title",
        message({**STALLED, "labels": {"alertname": "JetStreamExporterDown", "severity": "warning",
                                       "instance": "a:7778"}}),
        "Firing: ExporterDown a:7778",
    ),
    "over": (
        "title",
        message(alert_of("ConsumerStalled", "resolved")),
        "Over: ConsumerStalled worker on ORDERS [prod]",
    ),
    "the text": ("text", message(STALLED), f"{STALLED_TEXT}\n"),
    "the text when all is over": (
        "text",
        message(alert_of("ConsumerStalled", "resolved")),
        "Over: ConsumerStalled worker on ORDERS, from 03:04 to 03:34 UTC.\n",
    ),
    "the link": (
        "link", message(STALLED), "https://grafana.example.net/d/x?orgId=1&var-system=prod",
    ),
    "the colour of a page": ("color", message(STALLED), "danger"),
    "the colour of a ticket": ("color", message(alert_of("ServerDown")), "warning"),
    "the colour of the end": ("color", message(alert_of("ServerDown", "resolved")), "good"),
}  # fmt: skip


def rendered(folder: Path, template: str, data: Mapping[str, Any]) -> str:
    file = folder / "data.json"
    file.write_text(json.dumps(data))
    return run(
        amtool(), "template", "render", f"--template.glob={TEMPLATES}/*.tmpl",
        f'--template.text={{{{ template "streamgauge.{template}" . }}}}',
        f"--template.data={file}",
    )  # fmt: skip


@pytest.mark.program
@pytest.mark.parametrize(("template", "data", "text"), RENDERED.values(), ids=RENDERED)
def test_a_notification_reads_well(
    template: str, data: dict[str, Any], text: str, tmp_path: Path
) -> None:
    assert rendered(tmp_path, template, data).rstrip("\n") == text.rstrip("\n")


@pytest.mark.program
def test_more_than_five_alerts_are_listed_by_name(tmp_path: Path) -> None:
    lines = rendered(tmp_path, "text", message(*MANY)).splitlines()
    assert len([line for line in lines if line.startswith("What to do")]) == 5
    assert lines[-2:] == [f"Also: ConsumerStalled worker-{n} on ORDERS" for n in (5, 6)]


@pytest.mark.program
def test_the_mail_holds_the_same(tmp_path: Path) -> None:
    html = rendered(tmp_path, "html", message(STALLED, alert_of("StreamFull", "resolved")))
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
