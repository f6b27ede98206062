"""The compatibility rules in the real promtool give the values of the other exporters."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml
from support.peer_exporters import (
    OURS,
    PEERS,
    PeerScrapes,
    Sample,
    missing_peers,
    recorded,
    scrape_peers,
)

from alerts.compatibility.mapping import OldMetric
from alerts.compatibility.rule_files import FOLDER, ROOT, SETS
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

# They differ from one moment to the next; that they are there, for the same subjects, is compared.
MOVING: Final = (
    "varz_mem", "varz_start", "mem_bytes", "rtt_nanoseconds", "start_time", "uptime", "active_duration_ns",
    "last_delivery_seconds", "last_ack_seconds", "stats_api_total", "api_requests",
)  # fmt: skip
# The old one is wrong, see docs/migrate.md.
WRONG: Final = ("nats_stream_consumer_count",)
UNLIMITED: Final = 2.0**64
SYSTEM: Final = {"system": "nats"}


def promtool() -> Path:
    programs = prometheus()
    if programs is None:
        raise ProgramMissingError("promtool: not available")
    return programs.promtool


def leaders_only(program: str, samples: list[Sample]) -> list[Sample]:
    """The samples of the old exporter that come from the leader."""
    if program == PEERS[0]:
        return [
            each for each in samples
            if each.labels.get("is_consumer_leader", each.labels.get("is_stream_leader", "true")) == "true"
        ]  # fmt: skip
    return [
        each for each in samples
        if each.labels.get("consumer_leader", each.labels.get("stream_leader")) in (None, each.labels.get("server_name"))
    ]  # fmt: skip


def server_names(moment: PeerScrapes) -> dict[str, str]:
    """The name of each server by its address, which prometheus-nats-exporter calls its id."""
    return {
        each.labels["server_id"]: each.labels["server_name"]
        for each in moment.samples(PEERS[0])
        if each.name == "jetstream_server_max_storage"
    }


def limited(sample: Sample) -> bool:
    return 0 <= sample.value < UNLIMITED


def expected(
    moment: PeerScrapes, program: str, old: OldMetric
) -> dict[frozenset[tuple[str, str]], float]:
    """The old exporter's own samples with the labels that the rule keeps."""
    names, kept = server_names(moment), rule_labels(old)
    samples_by_labels: dict[frozenset[tuple[str, str]], float] = {}
    for each in leaders_only(program, [s for s in moment.samples(program) if s.name == old.name]):
        labels = {key: names.get(each.labels[key], each.labels[key]) for key in kept}
        if limited(each) and labels.get("account") not in ("$G", "SYS"):
            samples_by_labels[frozenset((labels | SYSTEM | dict(old.constant_labels)).items())] = (
                each.value
            )
    return samples_by_labels


def rule_labels(old: OldMetric) -> list[str]:
    labels = old.rule.partition("(")[2].partition(")")[0].split(", ")
    return [label for label in labels if label != "system"]


def written(name: str, labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inner}}}"


def case(
    old: OldMetric, samples_by_labels: Mapping[frozenset[tuple[str, str]], float]
) -> dict[str, object]:
    if old.name.endswith(MOVING):
        samples = [{"value": len(samples_by_labels)}]
        return {"expr": f"count({old.name})", "eval_time": "1m", "exp_samples": samples}
    samples = [
        {"labels": written(old.name, dict(labels)), "value": value} for labels, value in samples_by_labels.items()
    ]  # fmt: skip
    return {"expr": old.name, "eval_time": "1m", "exp_samples": samples}


def rules_agree(moment: PeerScrapes, program: str, folder: Path) -> None:
    olds = [old for old in SETS[program][1] if old.rule and old.name not in WRONG]
    inputs = [
        {"series": written(each.name, each.labels), "values": f"{each.value!r}+0x4"}
        for each in moment.samples(OURS)
        if each.name.startswith("streamgauge_") and "le" not in each.labels
    ]
    document = {
        "rule_files": [str(ROOT / FOLDER / f"{program}.rules.yml")],
        "tests": [
            {
                "interval": "30s",
                "input_series": inputs,
                "promql_expr_test": [case(old, expected(moment, program, old)) for old in olds],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run(
        [promtool(), "test", "rules", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.program
@pytest.mark.parametrize("program", PEERS)
def test_a_rule_gives_the_value_of_the_old_exporter(program: str, tmp_path: Path) -> None:
    rules_agree(recorded(), program, tmp_path)


@pytest.mark.parametrize("program", PEERS)
def test_every_rule_was_compared_with_something(program: str) -> None:
    silent = [
        old.name for old in SETS[program][1] if old.rule and not expected(recorded(), program, old)
    ]
    assert silent == []


def test_sums_of_the_old_exporters_count_replicas() -> None:
    """What docs/migrate.md warns of, seen in the recording."""
    moment = recorded()
    for program, name, label in (
        (PEERS[0], "jetstream_stream_total_messages", "stream_name"),
        (PEERS[1], "nats_stream_total_messages", "stream"),
    ):
        found = [
            s.value
            for s in moment.samples(program)
            if s.name == name and s.labels[label] == "ORDERS"
        ]
        assert found == [50, 50, 50]
    ours = [
        s.value
        for s in moment.samples(OURS)
        if s.name == "streamgauge_stream_messages" and s.labels["stream"] == "ORDERS"
    ]
    assert ours == [50]


@pytest.mark.program
@pytest.mark.parametrize("name", SETS)
def test_promtool_accepts_the_rules(name: str) -> None:
    file = ROOT / FOLDER / f"{name}.rules.yml"
    done = subprocess.run(
        [promtool(), "check", "rules", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.program
@pytest.mark.skipif(bool(missing_peers()), reason=f"not on PATH: {', '.join(missing_peers())}")
@pytest.mark.integration
def test_the_rules_agree_with_the_running_programs(tmp_path: Path) -> None:
    moment = asyncio.run(scrape_peers(tmp_path))
    for program in PEERS:
        rules_agree(moment, program, tmp_path)
