"""The compose file: what it mounts is there, what it starts accepts its settings."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import nats
import pytest
import yaml
from support.alert_pipeline.alertmanager import amtool
from support.collected import over_all
from support.deploy.files import COMPOSE, ROOT, load, run
from support.documents import read_document
from support.exporter.process import ran, read_series

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import cached, unpack_debian_packages
from streamgauge.demo.processes.programs import nats_server
from streamgauge.demo.processes.readiness import wait_until_ready

SERVICES: Final[dict[str, dict[str, Any]]] = load(COMPOSE / "compose.yaml")["services"]
OURS: Final = [name for name, service in SERVICES.items() if "build" in service]
each_service = over_all(SERVICES, "correct deploy/compose/compose.yaml")
NATS: Final = ["nats-1", "nats-2", "nats-3"]
# docker-compose 1.29 and what it imports, unpacked and not installed.
DEBIAN: Final = (
    "docker-compose", "python3-attr", "python3-certifi", "python3-chardet", "python3-charset-normalizer",
    "python3-distro", "python3-distutils", "python3-docker", "python3-dockerpty", "python3-docopt",
    "python3-dotenv", "python3-idna", "python3-jsonschema", "python3-lib2to3", "python3-packaging",
    "python3-pyrsistent", "python3-requests", "python3-six", "python3-texttable", "python3-urllib3",
    "python3-websocket", "python3-yaml",
)  # fmt: skip


def validate(*command: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        [*command, "-f", "compose.yaml", "config", "-q"],
        cwd=COMPOSE, env=os.environ | (environment or {}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("docker-compose"), reason="docker-compose is not on PATH")
def test_docker_compose_accepts_the_file() -> None:
    validate("docker-compose")


@pytest.mark.program
@pytest.mark.long
def test_docker_compose_of_debian_accepts_the_file() -> None:
    folder = cached("debian-docker-compose", lambda into: unpack_debian_packages(DEBIAN, into))
    places = [folder / "usr/lib/python3/dist-packages", *(folder / "usr/lib").glob("python3.*")]
    found = {"PYTHONPATH": os.pathsep.join(map(str, places))}
    validate("/usr/bin/python3", str(folder / "usr/bin/docker-compose"), environment=found)


def test_the_whole_pipeline_is_there() -> None:
    parts = {"exporter", "archive", "rollup", "prometheus", "alertmanager", "grafana"}
    assert set(SERVICES) == {*NATS, *parts}
    assert ":13." in SERVICES["grafana"]["image"]


@each_service
def test_every_mounted_file_is_there(name: str) -> None:
    for volume in SERVICES[name].get("volumes", ()):
        source = volume.partition(":")[0]
        if source.startswith("."):
            assert (COMPOSE / source).exists(), volume
        else:
            assert source in load(COMPOSE / "compose.yaml")["volumes"], volume


@each_service
def test_every_secret_is_there_and_not_empty(name: str) -> None:
    files = load(COMPOSE / "compose.yaml")["secrets"]
    for secret in SERVICES[name].get("secrets", ()):
        assert (COMPOSE / files[secret]["file"]).read_text().strip()


@each_service
def test_a_port_is_open_to_this_machine_alone(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith("127.0.0.1:"), port


@over_all(OURS, "correct deploy/compose/compose.yaml")
def test_ours_can_change_nothing_but_their_volumes(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_image_can_be_replaced() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[^}]+\}", service["image"]), name


@pytest.mark.program
@pytest.mark.parametrize("name", NATS)
def test_nats_accepts_its_configuration(name: str) -> None:
    words = re.findall(r"export (\w+)=", SERVICES[name]["entrypoint"][2])
    assert words == ["SYSTEM_PASSWORD", "APP_PASSWORD", "CLIENT_PASSWORD"]
    environment = dict.fromkeys(words, "change-me") | SERVICES[name]["environment"]
    done = subprocess.run(
        [nats_server(), "-t", "-c", COMPOSE / "nats" / "nats.conf"],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def allowed(text: str, user: str) -> list[set[str]]:
    """What a user of a NATS configuration may publish to and subscribe to."""
    block = re.split(r"user: ", text.partition(f"user: {user}\n")[2])[0]
    return [set(re.findall(r'"([^"]+)"', each)) for each in re.findall(r"allow: \[(.*?)\]", block, re.DOTALL)]  # fmt: skip


def test_the_exporters_user_has_the_documented_permissions_only() -> None:
    (documented,) = read_document("docs/permissions.md").section("System source").blocks("conf")
    ours = allowed((COMPOSE / "nats" / "nats.conf").read_text(), "streamgauge")
    assert len(ours) == 2
    assert ours == allowed(documented, "streamgauge")


def test_the_second_user_has_the_documented_permissions() -> None:
    section = read_document("docs/permissions.md").section("Account source")
    publish, subscribe = allowed((COMPOSE / "nats" / "nats.conf").read_text(), "streamgauge-app")
    assert publish == {"$SYS.REQ.USER.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.INFO.*.*"}
    assert subscribe == allowed(section.block("conf"), "streamgauge")[1]


@pytest.mark.program
def test_alertmanager_routes_as_the_generated_one_does() -> None:
    ours = load(COMPOSE / "alertmanager.yml")
    generated = load(ROOT / "alerts" / "generated" / "alertmanager.yml")
    assert ours["route"] == generated["route"]
    assert ours["inhibit_rules"] == generated["inhibit_rules"]
    assert "SUCCESS" in run(amtool(), "check-config", COMPOSE / "alertmanager.yml")


def test_grafana_finds_its_boards_and_its_data() -> None:
    provisioning = ROOT / "deploy" / "grafana" / "provisioning"
    (provider,) = load(provisioning / "dashboards" / "streamgauge.yaml")["providers"]
    mounted = [v.split(":")[1] for v in SERVICES["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounted
    (source,) = load(provisioning / "datasources" / "streamgauge.yaml")["datasources"]
    assert source["url"].removeprefix("$") in SERVICES["grafana"]["environment"]
    interval = load(COMPOSE / "prometheus.yml")["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == interval


def test_names_between_the_parts_are_those_of_the_services() -> None:
    texts = [COMPOSE / name for name in ("exporter.yml", "prometheus.yml", "nats/nats.conf")]
    named = {
        host
        for path in texts
        for host in re.findall(r"(?://|\")([a-z][a-z0-9-]*):\d+", path.read_text())
    }
    assert {"exporter", "archive", "alertmanager", *NATS} <= named
    assert named <= set(SERVICES)


def test_every_password_file_of_the_settings_is_a_secret() -> None:
    for service, file in (("exporter", "exporter.yml"), ("archive", "archive.yml"), ("prometheus", "prometheus.yml")):  # fmt: skip
        named = set(re.findall(r"/run/secrets/(\w+)", yaml.safe_dump(load(COMPOSE / file))))
        assert named == set(SERVICES[service]["secrets"])


def test_client_and_server_have_the_same_passwords() -> None:
    """Both sides read the same file; none is written a second time."""
    for path in COMPOSE.rglob("*"):
        if path.is_file() and path.parent.name != "secrets":
            for secret in Path(COMPOSE / "secrets").iterdir():
                assert secret.read_text().strip() not in path.read_text(), path


@pytest.mark.program
@pytest.mark.integration
def test_the_exporter_of_the_file_sees_what_the_servers_of_the_file_hold(tmp_path: Path) -> None:
    """Both configurations as committed; only places and the number of servers are changed."""
    series = read_series(asyncio.run(look_once(tmp_path)))
    assert series.value("stream_up", stream="ORDERS", account="APP") == 1
    assert series.named("request_success")
    assert set(series.named("request_success")) == {1}


async def look_once(folder: Path) -> str:
    client_port, monitor_port = free_ports(2)
    write_settings(folder, client_port, monitor_port)
    child = Child("nats-server", folder / "nats.log")
    environment = {f"{who}_PASSWORD": who for who in ("SYSTEM", "APP", "CLIENT")}
    start = (nats_server(), "-c", folder / "nats.conf")
    await child.start(*start, environment=os.environ | environment | {"SERVER_NAME": "nats-1"})
    try:
        await wait_until_ready(child, f"http://127.0.0.1:{monitor_port}/healthz")
        client = await nats.connect(
            f"nats://127.0.0.1:{client_port}", user="app", password="CLIENT"
        )
        await client.jetstream().add_stream(name="ORDERS", subjects=["orders.>"])
        await client.close()
        ended = await ran("--config", str(folder / "exporter.yml"), "--once")
    finally:
        await child.stop()
    assert ended.code == 0, ended.err
    return ended.out


def write_settings(folder: Path, client_port: int, monitor_port: int) -> None:
    text = (COMPOSE / "nats" / "nats.conf").read_text()
    text = re.sub(r"^cluster \{.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("0.0.0.0:4222", f"127.0.0.1:{client_port}").replace("/data", str(folder))
    text = text.replace("0.0.0.0:8222", f"127.0.0.1:{monitor_port}")
    (folder / "nats.conf").write_text(text)
    settings = (COMPOSE / "exporter.yml").read_text()
    settings = re.sub(r"urls: .*", f"urls: [nats://127.0.0.1:{client_port}]", settings)
    settings = settings.replace("expected_servers: 3", "expected_servers: 1")
    for who in ("system", "app"):
        (folder / who).write_text(who.upper())
        settings = settings.replace(f"/run/secrets/{who}_password", str(folder / who))
    (folder / "exporter.yml").write_text(settings)
