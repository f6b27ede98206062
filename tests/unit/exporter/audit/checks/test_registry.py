"""The registry: one check per file, valid declarations, selection and remedy commands."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from support.audit.rules import over_checks
from support.nats.cli_commands import nats_cli, programs_called

from exporter.audit.check import Check, CheckError, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.output.printed_commands import commands_for
from exporter.audit.registry import all_checks, codes, load_checks, near_code, selected_checks
from exporter.audit.severity import SEVERITIES, Severity

MAX_TITLE = 70


def finds_nothing(context: AuditContext) -> Iterator[Finding]:
    yield from ()


GOOD = Check(
    code="a-check",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A title",
    meaning="A meaning.",
    condition="A condition.",
    why="A reason.",
    remedy="A remedy.",
    commands=("nats stream info STREAM",),
    find=finds_nothing,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "some_checks"
    made.mkdir()
    (made / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("some_checks")]:
        del sys.modules[name]
    return made


def written(folder: Path, name: str, code: str) -> None:
    text = "from dataclasses import replace\nfrom test_audit_registry import GOOD\n"
    (folder / f"{name}.py").write_text(f"{text}CHECK = replace(GOOD, code={code!r})\n")


def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Check, ...]:
    monkeypatch.setitem(sys.modules, "test_audit_registry", sys.modules[__name__])
    return load_checks(import_module("some_checks"))


def test_a_file_is_enough_to_add_a_check(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, "b_second", "b-second")
    written(folder, "a_first", "a-first")
    assert [check.code for check in read(folder, monkeypatch)] == ["a-first", "b-second"]


def test_a_file_name_that_differs_from_the_code_is_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, "another", "a-first")
    with pytest.raises(CheckError, match=r"another\.py holds the check a-first"):
        read(folder, monkeypatch)


def test_a_file_without_a_check_is_rejected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty.py").touch()
    with pytest.raises(CheckError, match=r"empty\.py has no CHECK"):
        read(folder, monkeypatch)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": "A_Check"}, "lower-case words"),
        ({"title": ""}, "title"),
        ({"title": "A sentence."}, "title"),
        ({"meaning": "no stop"}, "full stop"),
        ({"why": "Two\nlines."}, "line break"),
        ({"commands": ("rm -rf /",)}, "start with nats"),
        ({"since": "3"}, "version"),
    ],
)
def test_invalid_declarations_are_rejected(change: dict[str, object], reason: str) -> None:
    with pytest.raises(CheckError, match=reason):
        replace(GOOD, **change)  # type: ignore[arg-type]


def test_the_worst_severity_comes_first() -> None:
    assert SEVERITIES == (Severity.CRIT, Severity.WARN, Severity.INFO)
    assert set(SEVERITIES) == set(Severity)
    assert [severity.rank for severity in SEVERITIES] == [0, 1, 2]


def test_every_subject_has_checks() -> None:
    assert {check.subject for check in all_checks()} == set(Subject)


@over_checks("the nats CLI must accept each command")
def test_every_command_is_valid_for_the_nats_cli(check: Check) -> None:
    assert check.commands, "has no command"
    for command in check.commands:
        complaint = _complaint(command)
        assert complaint is None, f"{command}: {complaint}"


def _complaint(command: str) -> str | None:
    (words,) = programs_called(command)
    return nats_cli().complaint(words[1:])


@over_checks(f"a title is longer than {MAX_TITLE} characters")
def test_every_title_fits_on_a_line(check: Check) -> None:
    assert len(check.title) <= MAX_TITLE


def test_a_command_gets_the_names_of_what_it_is_for() -> None:
    check = replace(GOOD, commands=("nats consumer edit STREAM CONSUMER --max-deliver 5",))
    named = Finding(evidence="", stream="ORDERS", consumer="a b")
    assert commands_for(check, named) == ("nats consumer edit ORDERS 'a b' --max-deliver 5",)
    unnamed = Finding(evidence="", stream="ORDERS")
    assert commands_for(check, unnamed) == ("nats consumer edit ORDERS CONSUMER --max-deliver 5",)


def test_a_command_for_a_bucket_gets_its_name_without_the_prefix() -> None:
    check = replace(GOOD, commands=("nats kv info BUCKET",))
    assert commands_for(check, Finding(evidence="", stream="KV_users")) == ("nats kv info users",)
    assert commands_for(check, Finding(evidence="", stream="ORDERS")) == ("nats kv info BUCKET",)


@pytest.mark.parametrize(
    "command",
    [
        "nats stream add DLQ --subjects '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>'",
        "nats server config reload SERVER_ID",
        "nats stream add DLQ --subjects 'dead.STREAM.>'",
    ],
)
def test_a_word_that_is_part_of_another_stays(command: str) -> None:
    check = replace(GOOD, commands=(command,))
    named = Finding(evidence="", stream="ORDERS", consumer="worker", server="n1")
    assert commands_for(check, named) == (command,)


def test_checks_are_chosen_by_code() -> None:
    some = sorted(codes())[:3]
    assert [check.code for check in selected_checks(only=some, skip=some[:1])] == [
        check.code for check in all_checks() if check.code in some[1:]
    ]
    assert selected_checks() == all_checks()
    assert len(selected_checks(skip=some)) == len(all_checks()) - 3


def test_a_misspelt_code_has_a_near_one() -> None:
    assert near_code("max-deliver-unlimted") == "max-deliver-unlimited"
    assert near_code("zzzzzzzz") == ""
