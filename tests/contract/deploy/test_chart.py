"""The Helm chart and the plain manifests: valid, fresh, locked in, and no value without effect."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml
from support.collected import over_all
from support.deploy.files import CHART, DEPLOY, MANIFESTS, ROOT, load, of_kind, on_path, pods, run

from alerts.rendering.rule_files import helm_template
from release.settings import read_release

VALUES: Final = load(CHART / "values.yaml")
SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES: Final = {path.name: path.read_text() for path in sorted((CHART / "templates").iterdir())}
each_pod = over_all(pods(), "correct the pod in deploy/helm and run make generate", itemgetter(0))
needs_helm = pytest.mark.skipif(not shutil.which("helm"), reason="helm is not on PATH")

# A helm that was built from its module alone takes itself for one of Kubernetes 1.20.
RENDER: Final = ("template", "streamgauge", CHART, "--kube-version", "1.31.0")
EVERYTHING: Final[tuple[str, ...]] = (
    "archive.enabled=true", "rollups.enabled=true", "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true", "dashboards.enabled=true", "networkPolicy.enabled=true",
    "exporter.podDisruptionBudget.enabled=true", "archive.podDisruptionBudget.enabled=true",
    "rollups.forecasts.enabled=true", "rollups.forecasts.remoteWrite=http://p:9090/api/v1/write",
)  # fmt: skip
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "defaults": (),
    "everything": EVERYTHING,
    "object store": (*EVERYTHING, "rollups.archive=s3://b/a", "rollups.out=s3://b/r"),
    "cluster": (*EVERYTHING, "rollups.spark.mode=master", "rollups.spark.master=spark://s:7077"),
    "connect": (*EVERYTHING, "rollups.spark.mode=connect", "rollups.spark.remote=sc://s:15002"),
    "submit": (*EVERYTHING, "rollups.spark.mode=submit", "rollups.spark.master=k8s://https://k"),
    "secured": (
        *EVERYTHING, "exporter.webConfigSecret=web", "archive.webConfigSecret=web",
        *(f"{part}.secrets[0].{key}=x" for part in ("exporter", "archive", "rollups") for key in ("file", "secretName", "key")),
    ),
    "route prefix": (*EVERYTHING, "exporter.config.web.external_url=https://example.com/gauge"),
    "archive alone": ("exporter.enabled=false", "archive.enabled=true", "networkPolicy.enabled=true"),
    "digest": (f"images.exporter.digest=sha256:{'a' * 64}", "fullnameOverride=gauge"),
}  # fmt: skip


def template(*sets: str) -> str:
    flags = [word for each in sets for word in ("--set", each)]
    return run(on_path("helm"), *RENDER, "--namespace", "m", *flags)


def resources(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


# --- without helm ---------------------------------------------------------------------------------


def test_the_chart_has_the_version_of_the_last_cut() -> None:
    """A packed one has that of the tag: tests/integration/release."""
    chart = load(CHART / "Chart.yaml")
    assert chart["appVersion"] == read_release().image_tag


def test_the_defaults_fit_the_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)
    jsonschema.validate(load(DEPLOY / "kubernetes" / "values.yaml"), SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [{"exporter": {"replica": 2}}, {"rollups": {"schedule": "nightly"}}, {"monitor": {}},
     {"images": {"exporter": {"repository": "x", "digest": "latest"}}}, {"rollups": {"spark": {"mode": "yarn"}}}],
    ids=str,
)  # fmt: skip
def test_the_schema_refuses_what_would_have_no_effect(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def leaves(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in schema.get("properties", {}).items():
        if inner.get("additionalProperties") is False:
            yield from leaves(inner, (*path, key))
        else:
            yield (*path, key)


def values_at(path: tuple[str, ...]) -> Any:
    found: Any = VALUES
    for key in path:
        assert key in found, f"{'.'.join(path)}: is in the schema and not in values.yaml"
        found = found[key]
    return found


def test_every_value_of_the_schema_has_its_default_and_is_used() -> None:
    text = "\n".join(TEMPLATES.values())
    for path in leaves(SCHEMA):
        if path[0] == "global" or path[-1] == "claims":
            continue
        if path[-2:-1] != ("resources",):
            values_at(path)
            assert re.search(rf"\.{path[-1]}\b", text), path


def test_the_rules_in_the_chart_are_fresh() -> None:
    assert TEMPLATES["prometheusrule.yaml"] == helm_template(), (
        "run streamgauge alerts render --format helm --out deploy/helm/streamgauge/templates"
    )


def test_the_boards_in_the_chart_are_fresh() -> None:
    generated = {p.name: p.read_text() for p in (ROOT / "dashboards/generated").glob("*.json")}
    copied = {p.name: p.read_text() for p in (CHART / "boards").glob("*.json")}
    assert copied == generated, "run make generate"


@each_pod
def test_a_pod_can_change_nothing_but_its_volumes(item: tuple[str, dict[str, Any]]) -> None:
    _, pod = item
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@each_pod
def test_kubernetes_sets_no_variables_that_look_like_settings(
    item: tuple[str, dict[str, Any]],
) -> None:
    """A service called streamgauge would set STREAMGAUGE_PORT, and an unknown variable is an error."""
    _, pod = item
    assert pod["enableServiceLinks"] is False


@each_pod
def test_a_pod_requests_what_it_needs(item: tuple[str, dict[str, Any]]) -> None:
    _, pod = item
    for container in pod["containers"]:
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


@each_pod
def test_every_mount_has_its_volume_and_every_volume_its_mount(
    item: tuple[str, dict[str, Any]],
) -> None:
    name, pod = item
    volumes = {volume["name"] for volume in pod.get("volumes", ())}
    claimed = {"data"} if name.endswith("-archive") else set()
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes | claimed


def test_a_server_is_probed() -> None:
    for resource in of_kind("Deployment", "StatefulSet"):
        (container,) = resource["spec"]["template"]["spec"]["containers"]
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_the_rollup_reads_the_volume_of_the_archive() -> None:
    (archive,) = of_kind("StatefulSet")
    claim = archive["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
    wanted = f"{claim}-{archive['metadata']['name']}-0"
    (pod,) = [pod for name, pod in pods() if name.endswith("-rollups")]
    claims = [v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "persistentVolumeClaim" in v]  # fmt: skip
    assert wanted in claims
    near = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    labels = archive["spec"]["template"]["metadata"]["labels"]
    assert near["labelSelector"]["matchLabels"].items() <= labels.items()


def test_a_service_leads_to_its_pods() -> None:
    templates = [r["spec"]["template"] for r in of_kind("Deployment", "StatefulSet")]
    for service in of_kind("Service"):
        selector = service["spec"]["selector"].items()
        matching = [t for t in templates if selector <= t["metadata"]["labels"].items()]
        assert len(matching) == 1
        ports = {p["name"] for p in matching[0]["spec"]["containers"][0]["ports"]}
        assert {p["targetPort"] for p in service["spec"]["ports"]} == ports - {"health"}


def test_no_secret_is_made_by_the_chart() -> None:
    assert of_kind("Secret") == []


# --- with helm ------------------------------------------------------------------------------------


@pytest.mark.program
@needs_helm
def test_helm_lints_the_chart() -> None:
    assert "0 chart(s) failed" in run(on_path("helm"), "lint", "--strict", CHART)


@pytest.mark.program
@needs_helm
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_rendered(variant: str) -> None:
    found = resources(template(*VARIANTS[variant]))
    assert found
    names = [(r["kind"], r["metadata"]["name"]) for r in found]
    assert len(names) == len(set(names))


@pytest.mark.program
@needs_helm
def test_everything_makes_every_kind() -> None:
    kinds = {each["kind"] for each in resources(template(*EVERYTHING))}
    assert kinds == {
        "ConfigMap", "CronJob", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "PodDisruptionBudget",
        "PrometheusRule", "Service", "ServiceAccount", "ServiceMonitor", "StatefulSet",
    }  # fmt: skip


def probed_ports(found: list[dict[str, Any]]) -> dict[str, tuple[str, set[str]]]:
    """For each server: the address for probes in its configuration, and the ports of its probes."""
    config = {
        name: yaml.safe_load(text)["web"].get("health_address", "")
        for each in found if each["kind"] == "ConfigMap"
        for name, text in each["data"].items() if name in ("exporter.yml", "archive.yml")
    }  # fmt: skip
    servers = {}
    for each in found:
        if each["kind"] in ("Deployment", "StatefulSet"):
            (container,) = each["spec"]["template"]["spec"]["containers"]
            if container["name"] in ("exporter", "archive"):
                ports = {str(p["containerPort"]): p["name"] for p in container["ports"]}
                address = config[f"{container['name']}.yml"]
                used = {
                    probe["httpGet"]["port"] for key, probe in container.items() if "Probe" in key
                }
                servers[container["name"]] = (ports.get(address.rpartition(":")[2], ""), used)
    return servers


@pytest.mark.program
@needs_helm
@pytest.mark.parametrize(("variant", "port"), [("everything", ""), ("secured", "health")])
def test_probes_reach_a_server_with_authentication(variant: str, port: str) -> None:
    expected = (port, {port or "http"})
    found = probed_ports(resources(template(*VARIANTS[variant])))
    assert found == {"exporter": expected, "archive": expected}


@pytest.mark.program
@needs_helm
def test_a_network_policy_without_scrapers_admits_none() -> None:
    def admitted(*sets: str) -> dict[str, list[Any]]:
        found = resources(template("archive.enabled=true", "networkPolicy.enabled=true", *sets))
        policies = [each for each in found if each["kind"] == "NetworkPolicy"]
        assert all("Ingress" in each["spec"]["policyTypes"] for each in policies)
        return {
            each["metadata"]["name"].rpartition("-")[2]: each["spec"].get("ingress", [])
            for each in policies
        }

    assert admitted() == {"exporter": [], "archive": []}
    peer = "networkPolicy.scrapers[0].namespaceSelector.matchLabels.name=monitoring"
    for rules in admitted(peer).values():
        assert [rule["from"][0]["namespaceSelector"]["matchLabels"] for rule in rules] == [
            {"name": "monitoring"}
        ]


@pytest.mark.program
@needs_helm
def test_a_board_arrives_as_it_was_written() -> None:
    found = resources(template("dashboards.enabled=true"))
    boards = [r for r in found if r["metadata"]["labels"].get("grafana_dashboard") == "1"]
    assert len(boards) == 8
    for board in boards:
        for name, text in board["data"].items():
            assert json.loads(text) == json.loads((CHART / "boards" / name).read_text())


@pytest.mark.program
@needs_helm
def test_the_rules_arrive_as_they_were_written() -> None:
    (rule,) = [
        r for r in resources(template("prometheusRule.enabled=true")) if r["kind"] == "PrometheusRule"
    ]  # fmt: skip
    written = load(ROOT / "alerts" / "generated" / "prometheusrule.yml")
    assert rule["spec"] == written["spec"]


@pytest.mark.program
@needs_helm
@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("archive.enabled=true", "rollups.spark.mode=master"), "rollups.spark.master: the address"),
        (("archive.enabled=true", "rollups.spark.mode=connect"), "rollups.spark.remote: the address"),
        (("archive.enabled=false",), "rollups.archive: the address of an archive"),
        (("rollups.archive=s3://b/a",), "rollups.out: an address too"),
        (("archive.enabled=true", "rollups.forecasts.enabled=true"), "rollups.forecasts.remoteWrite: the"),
    ],
)  # fmt: skip
def test_values_that_cannot_work_are_rejected_before_installation(
    sets: tuple[str, ...], message: str
) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        template("rollups.enabled=true", *sets)


@pytest.mark.program
@needs_helm
def test_the_plain_manifests_are_fresh() -> None:
    values = DEPLOY / "kubernetes" / "values.yaml"
    flags = ("--namespace", "monitoring", "--values", values)
    rendered = run(on_path("helm"), *RENDER, *flags)
    assert rendered == MANIFESTS.read_text()


def of_kubernetes(text: str) -> str:
    """Without the resources of the Prometheus operator, whose schemas are not Kubernetes' own."""
    own = [each for each in resources(text) if "coreos.com" not in each["apiVersion"]]
    return yaml.safe_dump_all(own)


@pytest.mark.program
@needs_helm
@pytest.mark.skipif(
    not shutil.which("kubernetes-validate"), reason="kubernetes-validate (PyPI) is not on PATH"
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_knows_every_field(variant: str, tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(of_kubernetes(template(*VARIANTS[variant])))
    for version in ("1.25.0", "1.31.0"):
        run("kubernetes-validate", "--strict", "--quiet", "--no-warn", "-k", version, file)


@pytest.mark.program
@needs_helm
@pytest.mark.long
@pytest.mark.skipif(not shutil.which("kubeconform"), reason="kubeconform is not on PATH")
def test_kubeconform_accepts_everything(tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(of_kubernetes(template(*EVERYTHING)))
    done = subprocess.run(
        ["kubeconform", "-strict", file], capture_output=True, text=True, check=False
    )
    if "failed downloading schema" in done.stdout:
        pytest.skip("kubeconform cannot reach its schemas from here")
    assert done.returncode == 0, done.stdout
