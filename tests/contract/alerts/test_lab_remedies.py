"""What the lab types to end a failure stands in the runbook of its alert, or below its check."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

from support.collected import over_all
from support.documents import Document, read_document
from support.lab.failure import Failure
from support.lab.seeds.numbers import ALL
from support.nats.cli_commands import programs_called

CHECKS: Final = "docs/checks.md"
# The lab cannot answer a question, and has one system.
OF_THE_LAB: Final = {"--force", "--context"}
Command = tuple[tuple[str, ...], frozenset[str]]


def typed(failure: type[Failure]) -> Iterator[str]:
    """The commands of its remedy."""
    yield from re.findall(r'cli\(f?"(nats [^"]+)"', inspect.getsource(failure.remedy))
    yield from filter(None, [getattr(failure, "fix", "")])


def command_of(words: list[str]) -> Command:
    """Its own words and its flags, without names and values."""
    path = [word for word in words[1:4] if re.fullmatch(r"[a-z-]+", word) and word[0] != "-"]
    return tuple(path[:2]), frozenset(word for word in words if word.startswith("--")) - OF_THE_LAB


def written(failure: type[Failure]) -> set[Command]:
    page = read_document(f"docs/runbooks/JetStream{failure.alert}.md")
    pages = [page, read_document(CHECKS).section(failure.check)] if failure.check else [page]
    return {command_of(words) for each in pages for words in commands(each)}


def commands(page: Document) -> Iterator[list[str]]:
    for block in page.blocks("sh"):
        yield from (words for words in programs_called(block) if words[0] == "nats")


TYPED: Final = [(kind, command) for kind in ALL if kind.alert for command in typed(kind)]


@over_all(TYPED, "write the command into the runbook, or type another", lambda one: one[0].__name__)
def test_what_the_lab_types_is_written(one: tuple[type[Failure], str]) -> None:
    failure, command = one
    (words,) = programs_called(command)
    assert command_of(words) in written(failure), command


def test_the_check_above_sees_something() -> None:
    assert len(TYPED) >= 20
    words = ["nats", "stream", "edit", "S", "--max-msgs", "5", "--force"]
    assert command_of(words) == (("stream", "edit"), frozenset({"--max-msgs"}))
