"""The workflow files: pinned, with few permissions, and made of targets that exist."""

from __future__ import annotations

import re
import tomllib
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import yaml
from support.collected import over_all
from support.deploy.files import ROOT
from support.nats.servers import VERSIONS

from release.settings import Addresses

WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Compared with the tags of the actions' own repositories.
KNOWN: Final = {
    "actions/checkout": ("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7.0.1"),
    "actions/setup-java": ("b6effb05e454b25005698d916606bdc6ffcbf961", "v5.7.0"),
    "actions/setup-python": ("5fda3b95a4ea91299a34e894583c3862153e4b97", "v7.0.0"),
    "actions/upload-artifact": ("bbbca2ddaa5d8feaa63e36b76fdaad77386f024f", "v7.0.0"),
    "docker/setup-buildx-action": ("37fe631027851001ddb9b187196cc803df7f5f0e", "v4.3.0"),
    "docker/setup-qemu-action": ("96fe6ef7f33517b61c61be40b68a1882f3264fb8", "v4.2.0"),
}
each_workflow = over_all(WORKFLOWS, "correct the workflow", attrgetter("name"))


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def commands() -> list[tuple[str, str]]:
    return [(path.name, step["run"]) for path in WORKFLOWS for step in steps(path) if "run" in step]


def test_there_is_one_for_each_purpose() -> None:
    assert {path.stem for path in WORKFLOWS} == {"check", "matrix", "release"}


@each_workflow
def test_every_action_is_pinned_to_a_commit_that_was_compared_with_its_tag(path: Path) -> None:
    found = re.findall(r"uses: (\S+?)@(\S+)(?: # (\S+))?$", path.read_text(), re.MULTILINE)
    assert len(found) == path.read_text().count("uses:")
    for action, commit, tag in found:
        assert KNOWN[action] == (commit, tag)


@each_workflow
def test_a_workflow_may_only_read_unless_a_job_says_more(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    writing = [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert writing == (["release"] if path.stem == "release" else [])
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@over_all(commands(), "put the expression into env: a text from outside must not become a command")
def test_no_expression_stands_in_a_command(found: tuple[str, str]) -> None:
    assert "${{" not in found[1]


def test_every_target_and_file_of_a_command_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(command for _, command in commands())
    called = set(re.findall(r"make ([a-z-]+)", text))
    assert called <= targets
    assert {"test-servers", "release-dry-run", "fresh", "test-long"} <= called
    for module in re.findall(r"-m (release\.\w+)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_the_matrix_names_servers_and_parts_that_exist() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/matrix.yml").read_text())["jobs"]
    assert tuple(jobs["exporter"]["strategy"]["matrix"]["nats"]) == VERSIONS
    parts = re.findall(r"^PART_(\w+) :=", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(jobs["long"]["strategy"]["matrix"]["part"]) == set(parts)


def test_the_pythons_of_package_matrix_and_docs_are_the_same() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/matrix.yml").read_text())["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [
        found[1]
        for each in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each))
    ]
    assert jobs["exporter"]["strategy"]["matrix"]["python"] == named
    assert (
        f"tested on {', '.join(named[:-1])} and {named[-1]}"
        in (ROOT / "docs/install.md").read_text()
    )
    assert project["requires-python"] == f">={named[0]}"


def test_the_release_asks_for_outputs_that_exist() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    asked = set(re.findall(r"steps\.addresses\.outputs\.(\w+)", text))
    assert asked
    assert asked <= {"version", *Addresses.__dataclass_fields__}


def test_the_forms_ask_for_what_is_needed() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = [yaml.safe_load(path.read_text()) for path in folder.glob("*.yml")]
    bodies = [form for form in forms if "body" in form]
    assert len(bodies) == 2
    for form in bodies:
        assert {"name", "description"} <= form.keys()
        assert any(field.get("validations", {}).get("required") for field in form["body"])
