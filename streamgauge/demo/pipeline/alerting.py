"""Our own rules and our own Alertmanager configuration for the demo: only faster, with a local phone."""

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

# Numbers that --speed leaves alone, as they are compared with values and not with time.
SMALL_NUMBERS: Final = ("consumer_stalled=5s", "deliveries_least=20", "snapshot_age=15s")
# Alertmanager waits for minutes so that what belongs together comes together. Here: seconds.
_WAIT_SPEED: Final = 15
_LONGEST_INTERVAL: Final = 3.0
_TEXTS: Final = Path("share/prometheus/alertmanager/default.tmpl")


def write_rules(folder: Path, speed: float, *, runbooks: str | None, boards: str | None) -> None:
    """The rules as `streamgauge alerts render` writes them."""
    words = ["alerts", "render", "--out", str(folder), "--speed", f"{speed:g}"]
    words += [word for number in SMALL_NUMBERS for word in ("--set", number)]
    for option, address in (("--runbooks", runbooks), ("--dashboards", boards)):
        words += [option, address] if address else []
    run([*STREAMGAUGE, *words], what="alert rules")


def write_alertmanager(config: Path, phone: str) -> None:
    """The generated configuration; each receiver keeps its texts and reaches the demo's phone."""
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
    document["receivers"] = [_local(each["name"], slack, phone) for each in document["receivers"]]
    hurry(document["route"])
    config.write_text(yaml.safe_dump(document), encoding="utf-8")


def _local(name: str, slack: dict[str, Any], phone: str) -> dict[str, Any]:
    """The texts come as for Slack, so that they are those of the templates; the facts by webhook."""
    message = {key: text for key, text in slack.items() if key != "api_url_file"}
    message |= {"api_url": f"{phone}/phone/{name}", "channel": name, "send_resolved": True}
    facts = {"url": f"{phone}/facts/{name}", "send_resolved": True}
    return {"name": name, "slack_configs": [message], "webhook_configs": [facts]}


def hurry(route: dict[str, Any]) -> None:
    """All waits of a route and those below it, short."""
    wait = parse_duration(route["group_wait"]) / _WAIT_SPEED
    interval = parse_duration(route["group_interval"]) / _WAIT_SPEED
    route["group_wait"] = format_duration(min(wait, _LONGEST_INTERVAL))
    route["group_interval"] = format_duration(min(interval, _LONGEST_INTERVAL))
    for child in route.get("routes", ()):
        hurry(child)


@cache
def alertmanager_command() -> tuple[str, ...]:
    """Alertmanager, where need be with the share/ that it was unpacked with instead of /usr/share."""
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
            "alertmanager: its texts are not installed, and unshare is barred"
        )
    mounted = f'mount --bind "{usr}/share" /usr/share && exec "$@"'
    return ("unshare", "-rm", "sh", "-c", mounted, "alertmanager", str(program))
