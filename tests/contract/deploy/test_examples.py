"""The ready-made values: accepted by the charts' schemas, and equal to what the pages say."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any, Final

import jsonschema
import pytest
import yaml
from support.deploy.files import CHART, DEPLOY, flags_of, load, on_path, run
from support.documents import read_document

from exporter.settings.config import ExporterSettings
from streamgauge.serving.settings.loader import build

FOLDER: Final = DEPLOY / "kubernetes" / "examples"
OURS: Final = ("kube-prometheus-stack", "central")
PAGE: Final = read_document("docs/deploy/kubernetes.md").section("Ready-made values")


def example(name: str) -> dict[str, Any]:
    return load(FOLDER / f"{name}.yaml")


def test_the_page_lists_every_example() -> None:
    listed = set(re.findall(r"^\| `([\w.-]+)` \|", PAGE.text, re.MULTILINE))
    assert listed == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("name", OURS)
def test_an_example_of_our_chart_fits_its_schema(name: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.validate(example(name), schema)


def test_the_exporters_accept_their_settings() -> None:
    build(ExporterSettings, example("central")["exporter"]["config"], "central.yaml")


@pytest.mark.program
@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not on PATH")
def test_our_examples_render_together() -> None:
    files = [word for name in OURS for word in ("--values", str(FOLDER / f"{name}.yaml"))]
    text = run(on_path("helm"), "template", "x", CHART, "--kube-version", "1.31.0", *files)
    found = [each for each in yaml.safe_load_all(text) if each]
    kinds = {each["kind"] for each in found}
    assert {"ServiceMonitor", "PrometheusRule", "PodDisruptionBudget"} <= kinds
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 2
    pod = deployment["spec"]["template"]
    spread = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]
    assert spread.items() <= pod["metadata"]["labels"].items()
    for each in found:
        if each["kind"] in ("ServiceMonitor", "PrometheusRule"):
            assert each["metadata"]["labels"]["release"] == "prometheus"


def test_the_user_of_the_nats_chart_has_the_documented_permissions() -> None:
    (user,) = example("nats-chart")["config"]["merge"]["accounts"]["SYS"]["users"]
    block = read_document("docs/permissions.md").section("System source").block("conf")
    documented = re.findall(r'"([$_][^"]*)"', block)
    given = user["permissions"]
    assert [*given["publish"]["allow"], *given["subscribe"]["allow"]] == documented


def test_the_sidecar_starts_the_exporter_as_that_user() -> None:
    container, volume = (step["value"] for step in example("nats-chart-sidecar")["podTemplate"]["patch"])  # fmt: skip
    flags = dict(word.split("=", 1) for word in container["args"])
    assert flags.keys() <= flags_of("exporter")
    (user,) = example("nats-chart")["config"]["merge"]["accounts"]["SYS"]["users"]
    assert flags["--user"] == user["user"]
    assert f"{flags['--inbox-prefix']}.>" in user["permissions"]["subscribe"]["allow"]
    assert container["volumeMounts"][0]["name"] == volume["name"]
    assert container["securityContext"]["runAsNonRoot"] is True
