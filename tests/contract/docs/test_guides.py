"""What guides show and no test can run here: parsed, and held to the files, values and metrics it names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

import promql_parser
import yaml
from support.collected import over_all
from support.deploy.files import CHART
from support.documents import ROOT, Document, all_documents, read_document

from exporter import catalog

GUIDES: Final = [each for each in all_documents() if each.name.startswith("docs/guides/")]
SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text())
_SHELL: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MATCHER: Final = re.compile(r'\w+ (=|!=|=~|!~) "[^"]*"')


def commands(program: str) -> Iterator[tuple[str, list[str]]]:
    """Of all pages, by the page: the words of each command of that program."""
    for document in all_documents():
        for body in _SHELL.findall(document.text):
            for line in body.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == [program]:
                    yield document.name, words


@over_all(GUIDES, "a block of the guide is not YAML", attrgetter("name"))
def test_every_yaml_block_is_read(document: Document) -> None:
    for block in re.findall(r"```yaml\n(.*?)```", document.text, re.DOTALL):
        assert yaml.safe_load(block)


def test_the_query_for_keda_is_promql_over_our_metrics() -> None:
    block = next(
        b for b in read_document("docs/guides/autoscaling.md").blocks("yaml") if "keda" in b
    )
    (trigger,) = yaml.safe_load(block)["spec"]["triggers"]
    promql_parser.parse(trigger["metadata"]["query"])
    names = re.findall(r"streamgauge_\w+", trigger["metadata"]["query"])
    assert names
    for name in names:
        assert {"system", "stream", "consumer"} <= set(catalog.BY_NAME[name].labels)


def test_the_routes_by_team_are_of_the_form_of_alertmanager() -> None:
    block = read_document("docs/guides/alert-routing.md").block("yaml")
    route: dict[str, Any] = yaml.safe_load(block)["route"]
    assert route["receiver"]
    for each in route["routes"]:
        assert each["receiver"]
        assert all(MATCHER.fullmatch(matcher) for matcher in each["matchers"])
    rules = (ROOT / "alerts/generated/consumer.rules.yml").read_text()
    assert re.search(r"^ +team:", rules, re.MULTILINE)


@over_all(list(commands("helm")), "correct the helm command in the page")
def test_a_helm_command_names_our_chart_and_its_values(found: tuple[str, list[str]]) -> None:
    _, words = found
    assert words[1:3] == ["install", "streamgauge"]
    assert (ROOT / words[3] / "Chart.yaml").is_file()
    for assignment in (b for a, b in pairwise(words) if a == "--set"):
        schema = SCHEMA
        for key in assignment.partition("=")[0].split("."):
            schema = schema["properties"][key]


@over_all([*commands("docker"), *commands("kubectl")], "correct the file in the command")
def test_a_command_for_containers_names_files_that_exist(found: tuple[str, list[str]]) -> None:
    _, words = found
    for flag, place in pairwise(words):
        if flag in ("-f", "--file"):
            assert (ROOT / place).is_file(), place


def test_figures_of_the_comparison_are_those_of_the_benchmarks() -> None:
    measured = read_document("docs/benchmarks.md").section("One poll and one scrape").text
    rows = re.findall(r"^\| (streamgauge, \w+|nats-surveyor|prometheus-nats-exporter) \| ([^|]+) \| ([^|]+) \|", measured, re.MULTILINE)  # fmt: skip
    large = {name: cpu.strip() for name, _, cpu in rows[5:]}
    ours = sorted(float(cpu.split()[0]) for name, cpu in large.items() if "streamgauge" in name)
    others = [round(float(large[name].split()[0])) for name in ("nats-surveyor", "prometheus-nats-exporter")]  # fmt: skip
    for name in ("README.md", "docs/guides/comparison.md"):
        (row,) = re.findall(r"^\| CPU of a poll, 100,000 consumers \|.*$", read_document(name).text, re.MULTILINE)  # fmt: skip
        assert f"{ours[0]} to {ours[-1]} s" in row, name
        assert all(f"{other} s" in row for other in others), name


def test_the_readme_names_the_five_gauges_and_the_product() -> None:
    readme = read_document("README.md")
    assert "Prometheus exporter for NATS JetStream" in readme.text.splitlines()[0]
    table = readme.section("What it answers").text
    gauges = re.findall(r"`(streamgauge_\w+)` \| (.+?) \| (.+?) \| (.+?) \|", table)
    assert len(gauges) == 5
    assert [name for name, *_ in gauges if name not in catalog.BY_NAME] == []


def test_the_checks_above_see_something() -> None:
    assert len(GUIDES) == 7
    assert len(list(commands("helm"))) >= 2
    assert len(list(commands("docker"))) >= 3
