"""Every fenced command is run by a test, or marked as an example with a reason.

A block is marked by a line before it: <!-- example: why it is not run -->"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from support.collected import over_all
from support.deploy.files import flags_of
from support.documents import ROOT, Document, all_documents
from support.nats.cli_commands import nats_cli, programs_called

_BLOCK: Final = re.compile(
    r"(?:^<!-- example: (?P<reason>[^\n]+) -->\n)?^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMAND: Final = re.compile(
    r"(?:[A-Z_]+=\S+ )?(?:streamgauge|make|python|pip|nats|nsc|promtool|spark-submit) "
)
_SHELLS: Final = ("sh", "bash", "console", "shell")
_LEAST_REASON: Final = 15  # characters; "x" is none

# Run here, in an empty folder: they need no server and touch nothing else.
HERE: Final = re.compile(
    r"streamgauge (alerts|dashboards) (render|thresholds)\b|python -m alerts\.compatibility \S"
)

# Pages whose commands are all held to the program's own list of commands, by the test named.
PAGES: Final = {
    "docs/runbooks/": "tests/contract/alerts/test_runbooks.py",
    "docs/checks": "tests/unit/exporter/audit/checks/test_registry.py",
    "docs/errors.md": "tests/contract/docs/test_errors_page.py",
}
# What a command is run by; with placeholders (HOST, DIR) the same with something in their place.
ELSEWHERE: Final = {
    r"make run\b.*": "tests/integration/demo/test_command.py",
    r"pip install '\.\[.*": "tests/integration/test_wheel.py",
    r"streamgauge exporter .*": "tests/integration/exporter/test_process.py",
    r"streamgauge archive --data .*": "tests/integration/archive/test_receiver_process.py",
    r"streamgauge archive (inspect|verify|export|import|compact) .*": "tests/integration/archive/test_tools.py",
    r"promtool tsdb create-blocks-from .*": "tests/integration/archive/test_tools.py",
    r"streamgauge rollup .*": "tests/spark",
    r"streamgauge report .*": "tests/browser/test_report.py",
    r"streamgauge audit .*": "tests/integration/audit/test_command.py",
    r"streamgauge (top|explain) .*": "tests/integration/exporter/test_terminal.py",
    r"streamgauge demo\b.*": "tests/integration/demo/test_command.py",
}  # fmt: skip
# Examples on pages that are written by a program, or that other hands keep; the reason stands here.
EXAMPLES: Final = {
    r"make test\b.*": "it is what runs this",
    r"make (check|generate|bench|record)\b.*": "a target of its own; that it exists is tested",
    r"nsc add user .*": "nsc is not a program of ours; test_permissions.py tries the same permissions",
    r"PYTHONPATH=tests python -m support\.grafana\.pictures .*": "draws pictures of a system that is watched for minutes",
    r"python -m bench\b.*": "measures for minutes",
    r"python -m streamgauge\.demo\.history\.main .*": "writes sixty days; its own tests write fewer",
    r"(\S*/)?spark-submit .*": "the tests of the rollups submit to a cluster of their own",
}


@dataclass(frozen=True)
class Block:
    document: Document
    reason: str
    commands: tuple[str, ...]


def blocks(document: Document) -> Iterator[Block]:
    for found in _BLOCK.finditer(document.text):
        commands = tuple(commands_in(found["language"].strip(), found["body"]))
        if commands:
            yield Block(document, (found["reason"] or "").strip(), commands)


def commands_in(language: str, body: str) -> Iterator[str]:
    """Without comments, continued lines joined. One without a language counts if it begins so."""
    if language not in _SHELLS and not (language == "" and _COMMAND.match(body)):
        return
    for line in body.replace("\\\n", " ").splitlines():
        words = re.sub(r"(^|\s+)#.*$", "", line).strip().removeprefix("$ ")
        if words:
            yield re.sub(r"\s+", " ", words)


BLOCKS: Final = [block for document in all_documents() for block in blocks(document)]
UNMARKED: Final = [
    (block.document.name, command)
    for block in BLOCKS
    if not block.reason and not block.document.name.startswith(tuple(PAGES))
    for command in block.commands
]


def runner_of(command: str) -> str:
    """The test that runs it, or why none does; empty when neither is known."""
    if HERE.match(command):
        return "run below"
    if command.startswith("nats "):
        return "held to the program's own list below: it changes the reader's system"
    for table in (ELSEWHERE, EXAMPLES):
        for pattern, runner in table.items():
            if re.fullmatch(pattern, command):
                return runner
    return ""


@over_all(
    UNMARKED,
    "a command is run by no test: write <!-- example: why not --> on the line before its block, "
    f"or name the test that runs it in {Path(__file__).name}",
)
def test_a_command_is_run_by_a_test_or_marked(found: tuple[str, str]) -> None:
    assert runner_of(found[1])


@over_all([b for b in BLOCKS if b.reason], "give a reason in words", lambda b: b.commands[0][:60])
def test_a_reason_says_something(block: Block) -> None:
    assert len(block.reason) >= _LEAST_REASON


OURS_HERE: Final = sorted({command for _, command in UNMARKED if HERE.match(command)})


@pytest.mark.parametrize("command", OURS_HERE)
def test_a_command_that_needs_nothing_works(command: str, tmp_path: Path) -> None:
    words = shlex.split(command, comments=True)
    start = (
        [sys.executable, "-m", "streamgauge.cli"] if words[0] == "streamgauge" else [sys.executable]
    )
    done = subprocess.run(
        [*start, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@over_all(sorted({c for _, c in UNMARKED if c.startswith("nats ")}), "correct the nats command")
def test_a_command_of_the_nats_program_is_one_that_it_knows(command: str) -> None:
    for program, *words in programs_called(command):
        if program == "nats":
            assert nats_cli().complaint(words) is None, command


def flags_given() -> Iterator[tuple[str, str, str]]:
    for block in BLOCKS:
        for command in block.commands:
            for name, rest in re.findall(r"(?:^|[\s/])streamgauge ([a-z]+)(?= |$)(.*)", command):
                for flag in re.findall(r"(?<=\s)--[a-z]+(?:[.-][a-z]+)*", rest):
                    if name not in ("alerts", "dashboards") and "archive " not in command:
                        yield block.document.name, name, flag


GIVEN: Final = sorted(set(flags_given()))


@over_all(GIVEN, "a page gives a flag that the command does not have (page, command, flag)")
def test_every_flag_of_a_command_exists(given: tuple[str, str, str]) -> None:
    _, command, flag = given
    assert flag in flags_of(command), f"unknown flag {flag}"


def test_the_tests_that_are_named_are_there() -> None:
    used = {runner_of(command) for _, command in UNMARKED}
    for place in {*PAGES.values(), *ELSEWHERE.values()}:
        if place in used or place in PAGES.values():
            assert (ROOT / place).exists(), place


def test_the_checks_above_see_something() -> None:
    documents = {block.document.name for block in BLOCKS}
    assert {"README.md", "docs/alerts.md", "docs/dashboards.md", "docs/archive.md"} <= documents
    assert len(OURS_HERE) > 8
    (block,) = blocks(
        Document(
            ROOT / "x.md", "<!-- example: because of that -->\n```sh\nnats  x \\\n  y # z\n```\n"
        )
    )
    assert (block.reason, block.commands) == ("because of that", ("nats x y",))
    assert runner_of("rm -rf x") == ""
