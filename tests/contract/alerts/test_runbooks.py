"""Every alert has a runbook that is whole, and everything it names exists."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

import promql_parser
import pytest
import yaml
from support.collected import over_all
from support.documents import ROOT, Document, read_document
from support.nats.cli_commands import nats_cli, programs_called

from alerts.rules import BY_NAME
from exporter import catalog

FOLDER: Final = ROOT / "docs/runbooks"
INDEX: Final = read_document("docs/runbooks/README.md")
RUNBOOKS: Final = {
    path.stem: Document(path, path.read_text()) for path in sorted(FOLDER.glob("JetStream*.md"))
}
NAME: Final = attrgetter("path.stem")
each_runbook = over_all(RUNBOOKS.values(), "correct the runbook in docs/runbooks", NAME)
with_index = over_all([INDEX, *RUNBOOKS.values()], "correct the page in docs/runbooks", NAME)

HEADINGS: Final = ["Diagnosis", "Mitigation"]
SECTIONS: Final = {
    "critical": "Pages",
    "warning": "Tickets",
    "info": "Information",
    "none": "Information",
}
# Beside nats: what the on-call engineer has at hand.
PROGRAMS: Final = {
    "nats", "jq", "curl", "df", "du", "free", "journalctl", "systemctl", "chronyc", "timedatectl",
    "date", "streamgauge", "promtool",
}  # fmt: skip
# Each of them takes something away that no other command brings back.
DESTROYS: Final = {
    ("stream", "rm"), ("stream", "rmm"), ("stream", "purge"), ("stream", "cluster", "peer-remove"),
    ("stream", "seal"), ("consumer", "rm"), ("consumer", "reset"), ("consumer", "next"),
    ("server", "cluster", "peer-remove"), ("server", "account", "purge"), ("kv", "del"),
    ("kv", "purge"), ("object", "del"),
}  # fmt: skip
SHELL: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Labels that a scrape adds to every series, and series that Prometheus itself creates.
SCRAPED: Final = {"job", "instance"}
OF_PROMETHEUS: Final = {"up", "ALERTS"}
# Names that another system may have too.
OF_ONE_SYSTEM: Final = {"account", "stream", "consumer", "server"}
LONGEST: Final = 100
MOST_WORDS: Final = 450
# Of the system and account of the alert, and of its system account.
CONTEXTS: Final = {"user": "SYSTEM.ACCOUNT", "system": "SYSTEM.SYS", "-": None}


@cache
def rules() -> list[dict[str, Any]]:
    """Alerts and recordings as they are rendered."""
    files = sorted((ROOT / "alerts/generated").glob("*.rules.yml"))
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> dict[str, str]:
    """Severity of every alert, by name."""
    return {name: alert.severity.value for name, alert in BY_NAME.items()}


def not_of_the_exporter() -> set[str]:
    return {rule["record"] for rule in rules() if "record" in rule} | OF_PROMETHEUS


def selectors(expression: object) -> Iterator[promql_parser.VectorSelector]:
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression
    for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
        if (part := getattr(expression, name, None)) is not None:
            yield from selectors(part)
    for argument in getattr(expression, "args", ()):
        yield from selectors(argument)


def labels_of(expression: Any) -> frozenset[str] | None:
    """The labels of its result; None for a number. A pair that cannot match is an error."""
    match expression:
        case promql_parser.VectorSelector():
            metric = catalog.BY_NAME.get(expression.name or "")
            return frozenset({*metric.labels, *SCRAPED}) if metric else frozenset()
        case promql_parser.MatrixSelector():
            return labels_of(expression.vector_selector)
        case promql_parser.Call():
            found = [labels_of(argument) for argument in expression.args]
            return next((labels for labels in found if labels is not None), None)
        case promql_parser.AggregateExpr() if expression.modifier is not None:
            return frozenset(expression.modifier.labels)
        case promql_parser.BinaryExpr():
            return labels_of_pair(expression)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            return None
    return labels_of(expression.expr)


def labels_of_pair(pair: Any) -> frozenset[str] | None:
    left, right = labels_of(pair.lhs), labels_of(pair.rhs)
    if left is None or right is None:
        return right if left is None else left
    matched = pair.modifier is not None and pair.modifier.matching is not None
    if not matched and str(pair.op) != "or":
        assert left == right, f"no result: {sorted(left ^ right)} on one side of {pair.op} only"
    return left


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    assert set(RUNBOOKS) == set(alerts())


def test_every_alert_sends_to_its_own_runbook() -> None:
    for rule in (rule for rule in rules() if "alert" in rule):
        url = rule["annotations"]["runbook_url"]
        assert f"/docs/runbooks/{rule['alert']}{{{{ end }}}}" in url
        assert f"docs/runbooks/{rule['alert']}.md" in url


def test_the_index_has_every_alert_once_below_its_severity() -> None:
    for severity, section in SECTIONS.items():
        listed = [link for link in INDEX.section(section).links() if link.startswith("JetStream")]
        wanted = {f"{name}.md" for name, found in alerts().items() if SECTIONS[found] == section}
        assert sorted(listed) == sorted(wanted), severity


@each_runbook
def test_a_runbook_has_the_headings_in_order(runbook: Document) -> None:
    titles = re.findall(r"^(#+) (.+)$", runbook.prose(), re.MULTILINE)
    assert titles == [("#", runbook.path.stem), *(("##", heading) for heading in HEADINGS)]
    for heading in HEADINGS:
        assert runbook.section(heading).text.strip(), heading


def meaning(runbook: Document) -> str:
    """What stands above the first question."""
    return runbook.text.partition("\n## ")[0]


@each_runbook
def test_a_runbook_begins_with_the_causes(runbook: Document) -> None:
    """One paragraph of meaning, then from what the engineer sees to the cause and the step."""
    paragraph, asked, table = meaning(runbook).partition("\n\n| Is it one of these? | cause |\n")
    assert asked, "has no table of causes"
    assert re.fullmatch(r"# \w+\n\n[^\n]+(\n[^\n]+)*", paragraph)
    rows = [line for line in table.splitlines()[1:] if line.startswith("|")]
    assert len(rows) >= 3
    steps = runbook.section("Diagnosis").text
    for number in re.findall(r"\bsteps? (\d)(?: and (\d))?", "\n".join(rows)):
        for step in filter(None, number):
            assert f"**{step}. " in steps, f"there is no step {step}"


@each_runbook
def test_a_remedy_that_is_named_is_there(runbook: Document) -> None:
    for page, number in re.findall(r"(?:\((JetStream\w+)\.md\),\s+)?Mitigation (\d)", runbook.text):
        remedies = RUNBOOKS[page or runbook.path.stem].section("Mitigation").text
        assert f"\n{number}. " in remedies, f"{page} has no remedy {number}"


@each_runbook
def test_the_diagnosis_is_a_list_of_questions(runbook: Document) -> None:
    """The question, the command, how to read its output."""
    diagnosis = runbook.section("Diagnosis").text.strip()
    assert re.match(r"\*\*1\. [^*]+\?\*\*", diagnosis), "begins with its first question"
    numbers = re.findall(r"^\*\*(\d+)\. [^*]+\?\*\*", diagnosis, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert "```" in diagnosis


@each_runbook
def test_a_runbook_is_short_enough_for_the_night(runbook: Document) -> None:
    lines = runbook.text.splitlines()
    assert len(lines) <= LONGEST
    assert len(runbook.text.split()) <= MOST_WORDS
    assert max(len(line) for line in lines if not line.startswith("|")) <= 120


@with_index
def test_every_nats_command_is_one_that_the_cli_has(page: Document) -> None:
    for words in commands(page):
        if words[0] == "nats":
            assert nats_cli().complaint(words[1:]) is None, " ".join(words)


def context_of(words: list[str]) -> str | None:
    """The context that the command names."""
    return next((value for flag, value in pairwise(words) if flag == "--context"), None)


def needed_context(words: list[str]) -> str | None:
    if any(word.startswith("$JS.API.META.") for word in words):
        return CONTEXTS["system"]
    return CONTEXTS[nats_cli().scope(words[1:])]


@with_index
def test_every_nats_command_names_the_context_it_needs(page: Document) -> None:
    for block in page.blocks("sh"):
        for words in programs_called(block):
            if words[0] == "nats":
                assert context_of(words) == needed_context(words), " ".join(words)


@each_runbook
def test_a_command_for_replicas_says_what_holds_for_one(runbook: Document) -> None:
    steps = runbook.section("Mitigation").text
    for step in re.split(r"^(?=\d+\. )", steps, flags=re.MULTILINE):
        for words in (words for block in SHELL.findall(step) for words in programs_called(block)):
            if words[2:3] != ["cluster"]:
                continue
            if words[1] == "server":
                assert "JetStreamMeta" in runbook.path.stem or "In a cluster" in step, step
            else:
                assert "R1" in meaning(runbook) + step, f"what holds for R1? {step}"


@with_index
def test_every_program_called_is_one_at_hand(page: Document) -> None:
    for words in commands(page):
        assert words[0] in PROGRAMS, words


def commands(page: Document) -> Iterator[list[str]]:
    for block in page.blocks("sh"):
        yield from programs_called(block)
    for code in re.findall(r"`(nats [^`\n]+)`", page.prose()):
        yield from programs_called(code)


@with_index
def test_what_destroys_something_is_marked_and_says_what_is_lost(page: Document) -> None:
    for block in SHELL.finditer(page.text):
        destroys = [words for words in programs_called(block[1]) if is_destroying(words)]
        before = page.text[: block.start()].rstrip().rpartition("\n\n")[2]
        assert not destroys or before.startswith("**Danger:**"), destroys[0]


def is_destroying(words: list[str]) -> bool:
    if words[:3] == ["nats", "consumer", "next"]:
        return "--no-ack" not in words
    pairs = {f"{flag} {value}" for flag, value in pairwise(words)}
    return (
        any(tuple(words[1 : 1 + len(command)]) == command for command in DESTROYS)
        or bool(pairs & {"--discard old", "--replicas 1"})
        or any(word.startswith(("$JS.ACK.", "$JS.API.META.RESCUE")) for word in words)
    )


@with_index
def test_every_promql_metric_and_label_exists(page: Document) -> None:
    for block in page.blocks("promql"):
        for selector in selectors(promql_parser.parse(block)):
            assert selector.name is not None, block
            if selector.name in not_of_the_exporter():
                continue
            assert selector.name in catalog.BY_NAME, selector.name
            labels = {matcher.name for matcher in selector.matchers.matchers}
            assert labels <= {*catalog.BY_NAME[selector.name].labels, *SCRAPED}, block


@with_index
def test_every_promql_selector_of_an_asset_names_its_system(page: Document) -> None:
    for block in page.blocks("promql"):
        for selector in selectors(promql_parser.parse(block)):
            labels = {matcher.name for matcher in selector.matchers.matchers}
            assert "system" in labels or not labels & OF_ONE_SYSTEM, block


@with_index
def test_no_query_misses_the_first_event(page: Document) -> None:
    """The series of an event begins with it: its increase and rate show only those after it."""
    events = {counter.name for counter in catalog.EVENT_TIMES}
    for block in page.blocks("promql"):
        grown = re.findall(r"(?:increase|rate)\(([a-z_]+)", block)
        assert not events & {*grown}, block


def grouping_labels(expression: object) -> Iterator[str]:
    """The labels of every by, without, on and ignoring."""
    modifier = getattr(expression, "modifier", None)
    for part in (modifier, getattr(modifier, "matching", None)):
        yield from getattr(part, "labels", None) or ()
    for name in ("lhs", "rhs", "expr", "param"):
        if (inner := getattr(expression, name, None)) is not None:
            yield from grouping_labels(inner)
    for argument in getattr(expression, "args", ()):
        yield from grouping_labels(argument)


@with_index
def test_every_label_that_a_query_groups_by_exists(page: Document) -> None:
    known = {label for metric in catalog.ALL for label in metric.labels} | SCRAPED | {"le"}
    for block in page.blocks("promql"):
        unknown = set(grouping_labels(promql_parser.parse(block))) - known
        assert not unknown, f"{sorted(unknown)} in {block}"


def test_a_label_that_no_metric_has_is_found() -> None:
    parsed = promql_parser.parse("sum by (question, reason) (rate(a[5m])) / on (x) b")
    assert set(grouping_labels(parsed)) == {"question", "reason", "x"}


@with_index
def test_both_sides_of_a_promql_operation_can_match(page: Document) -> None:
    for block in page.blocks("promql"):
        labels_of(promql_parser.parse(block))


def test_sides_that_cannot_match_are_found() -> None:
    up, size = "streamgauge_server_up", "streamgauge_meta_size"
    with pytest.raises(AssertionError, match="instance"):
        labels_of(promql_parser.parse(f"{size} - sum by (system) ({up})"))
    aggregated = labels_of(promql_parser.parse(f"max by (system) ({size}) - time()"))
    assert aggregated == frozenset({"system"})


@with_index
def test_every_link_leads_to_a_file(page: Document) -> None:
    for link in page.links():
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.is_file() or target.is_dir(), link
        if anchor:
            assert anchor in Document(target, target.read_text()).anchors(), link


def test_the_checks_above_see_something() -> None:
    """A pattern that matches nothing would find no fault either."""
    every = Document(FOLDER / "x.md", "\n".join(page.text for page in RUNBOOKS.values()))
    called = list(commands(every))
    assert len(RUNBOOKS) > 50
    assert len([words for words in called if words[0] == "nats"]) > 150
    assert len([words for words in called if is_destroying(words)]) > 10
    assert len(every.blocks("promql")) > 40
    assert len(list(selectors(promql_parser.parse("sum(rate(a[5m])) / on (x) -b")))) == 2


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("nats consumer purge S C", "consumer has no sub-command purge"),
        ("nats consumer config S C", "consumer has no sub-command config"),
        ("nats server log", "server has no sub-command log"),
        ("nats stream edit S --dedupe-window 5m", "stream edit has no flag --dedupe-window"),
        ("nats consumer add S C --ack-policy=all", "consumer add has no flag --ack-policy"),
        ("nats stream backup S", "stream backup takes <stream> <target>, not S"),
        ("nats stream info S C", "stream info takes [<stream>], not S C"),
        ("nats consumer info S C", None),
        ("nats event --js-advisory", None),
        ("nats server check stream --stream S --format=json", None),
        ("nats consumer next S C --no-ack --context APP", None),
    ],
)
def test_a_command_that_the_cli_lacks_is_found(command: str, fault: str | None) -> None:
    (words,) = programs_called(command)
    assert nats_cli().complaint(words[1:]) == fault


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("nats stream info S", "SYSTEM.ACCOUNT"),
        ("nats server check stream --stream S", "SYSTEM.ACCOUNT"),
        ("nats server stream-check --stream S", "SYSTEM.SYS"),
        ("nats auth account push A", "SYSTEM.SYS"),
        ("nats request '$JS.API.META.RESCUE' '{}'", "SYSTEM.SYS"),
        ("nats context ls", None),
    ],
)
def test_the_needed_context_follows_from_the_command(command: str, needed: str | None) -> None:
    (words,) = programs_called(command)
    assert needed_context(words) == needed
    assert context_of([*words, "--context", "OTHER"]) == "OTHER"


def test_commands_are_found_wherever_a_shell_would_run_them() -> None:
    shell = "for s in 1 2; do nats stream get S $s; done\nnats stream info S \\\n  --json | jq .x\n"
    assert list(programs_called(shell)) == [
        ["nats", "stream", "get", "S", "$s"],
        ["nats", "stream", "info", "S", "--json"],
        ["jq", ".x"],
    ]
