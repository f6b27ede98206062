"""Alert rules and Alertmanager configuration of the demo: faster, with the notification preview."""

import shutil
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

from alerts.quantity import format_duration, parse_duration
from streamgauge.demo.processes.child import STREAMGAUGE
from streamgauge.demo.processes.program_cache import ProgramMissingError, run
from streamgauge.demo.processes.programs import alertmanager

# Three poll intervals of the demo, whatever the speed.
_SNAPSHOT_AGE_SECONDS: Final = 15
# Alertmanager waits minutes to group alerts. Here: seconds.
_WAIT_SPEED: Final = 15
_LONGEST_INTERVAL: Final = 3.0
_TEXTS: Final = Path("share/prometheus/alertmanager/default.tmpl")


def write_rules(folder: Path, speed: float, *, boards: str) -> None:
    """As `streamgauge alerts render` writes them; links of runbooks lead to the exporter.

    Those of boards lead to the demo's own server, which knows whether Grafana runs."""
    words = ["alerts", "render", "--out", str(folder), "--speed", f"{speed:g}"]
    words += ["--set", f"snapshot_age={_SNAPSHOT_AGE_SECONDS * speed:g}s"]
    words += ["--dashboards", boards]
    run([*STREAMGAUGE, *words], what="alert rules")


def write_alertmanager(config: Path, preview: str) -> None:
    """The generated configuration; every receiver sends to the notification preview instead."""
    generated = files("alerts")
    document = yaml.safe_load(
        generated.joinpath("generated", "alertmanager.yml").read_text("utf-8")
    )
    texts = config.parent / "streamgauge.tmpl"
    texts.write_text(generated.joinpath("templates", "streamgauge.tmpl").read_text("utf-8"))
    document["templates"] = [str(texts)]
    document["global"] = {"resolve_timeout": "1m"}
    slack = next(
        each["slack_configs"][0] for each in document["receivers"] if "slack_configs" in each
    )
    document["receivers"] = [_local(each["name"], slack, preview) for each in document["receivers"]]
    shorten_waits(document["route"])
    config.write_text(yaml.safe_dump(document), encoding="utf-8")


def _local(name: str, slack: dict[str, Any], preview: str) -> dict[str, Any]:
    """The texts come by a Slack receiver, with our templates; the firing alerts by a webhook."""
    message = {key: text for key, text in slack.items() if key != "api_url_file"}
    message |= {
        "api_url": f"{preview}/notification-preview/{name}",
        "channel": name,
        "send_resolved": True,
    }
    webhook = {"url": f"{preview}/alerts/{name}", "send_resolved": True}
    return {"name": name, "slack_configs": [message], "webhook_configs": [webhook]}


def shorten_waits(route: dict[str, Any]) -> None:
    """Of a route and its children."""
    wait = parse_duration(route["group_wait"]) / _WAIT_SPEED
    interval = parse_duration(route["group_interval"]) / _WAIT_SPEED
    route["group_wait"] = format_duration(min(wait, _LONGEST_INTERVAL))
    route["group_interval"] = format_duration(min(interval, _LONGEST_INTERVAL))
    for child in route.get("routes", ()):
        shorten_waits(child)


@cache
def alertmanager_command() -> tuple[str, ...]:
    """Alertmanager; an unpacked one gets its own share/ mounted at /usr/share."""
    program = alertmanager()
    if program is None:
        raise ProgramMissingError("alertmanager: not available")
    usr = program.parent.parent
    if not (usr / _TEXTS).is_file() or (Path("/usr") / _TEXTS).is_file():
        return (str(program),)
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode
    ):
        raise ProgramMissingError(
            "alertmanager: its templates are not installed, and unshare is not permitted"
        )
    mounted = f'mount --bind "{usr}/share" /usr/share && exec "$@"'
    return ("unshare", "-rm", "sh", "-c", mounted, "alertmanager", str(program))
