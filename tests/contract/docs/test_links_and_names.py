"""What we write for people agrees with what there is: links, files, flags, metrics, targets."""

import re
import shlex
from dataclasses import astuple
from itertools import chain
from operator import attrgetter
from typing import Final
from urllib.parse import unquote

import yaml
from support.collected import over_all
from support.documents import ROOT, Document, all_documents, read_document

from exporter import catalog
from exporter.audit.command.parser import parser as audit_parser
from exporter.settings.config import ExporterSettings
from exporter.settings.flags import parser
from exporter.terminal.explain_flags import parser as explain_parser
from exporter.terminal.top_flags import parser as top_parser
from release.settings import read_release
from streamgauge.serving.settings.loader import build

DOCUMENTS: Final = {document.name: document for document in all_documents()}
NAME: Final = attrgetter("name")
# Our own addresses, once deploy/release.toml has them.
PUBLISHED: Final = [each for each in astuple(read_release().addresses) if "://" in each]

METRIC: Final = re.compile(r"(?<![A-Za-z0-9_])streamgauge_[a-z0-9_]+\*?")
TARGET: Final = re.compile(r"(?<![\w-])make ([a-z][a-z-]*)")
OUR_PATH: Final = re.compile(
    r"(?:exporter|archive|spark_rollups|alerts|dashboards|streamgauge|bench|tests|docs)/[\w./-]*"
)


@over_all(DOCUMENTS.values(), "a link leads nowhere: correct it in the page", NAME)
def test_every_link_leads_somewhere(document: Document) -> None:
    for link in document.links():
        if any(link.startswith(known) for known in PUBLISHED):
            continue
        assert "://" not in link, "a place on the web may vanish: name it in words"
        path, _, anchor = unquote(link).partition("#")
        target = (document.path.parent / path).resolve() if path else document.path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in read_document(str(target.relative_to(ROOT))).anchors(), link


@over_all(DOCUMENTS.values(), "a page names a file that is not there: correct the path", NAME)
def test_every_file_named_exists(document: Document) -> None:
    for word in document.code():
        if OUR_PATH.fullmatch(word):
            assert (ROOT / word).exists(), word


@over_all(DOCUMENTS.values(), "a page names a metric that exporter/catalog/ does not define", NAME)
def test_every_metric_named_is_in_the_catalogue(document: Document) -> None:
    for name in METRIC.findall(document.text):
        if name.endswith("*"):
            assert any(known.startswith(name[:-1]) for known in catalog.BY_NAME), name
        else:
            assert name in catalog.BY_NAME, name


@over_all(
    DOCUMENTS.values(),
    "a page names a request or reason that exporter/catalog/ does not list",
    NAME,
)
def test_every_request_and_reason_named_is_a_known_one(document: Document) -> None:
    for reason in re.findall(r'reason(?: `|=")(\w+)', document.text):
        assert reason in (*catalog.REASONS, *catalog.SKIP_REASONS), reason
    for request in re.findall(r'request="(\w+)', document.text):
        assert request in catalog.REQUESTS, request


FLAG = r"--[a-z]+(?:[.-][a-z]+)*"
OTHER_PACKAGES = ("alerts", "archive", "bench", "spark_rollups", "streamgauge/demo")


@over_all(DOCUMENTS.values(), "a page names a flag that no command has", NAME)
def test_every_flag_named_exists(document: Document) -> None:
    parsers = (parser(), audit_parser(), top_parser(), explain_parser())
    helps = "".join(each.format_help() for each in parsers)
    known = set(re.findall(FLAG, helps))
    known = known.union(*(declared_flags(package) for package in OTHER_PACKAGES))
    inline = [piece.split()[0] for piece in document.code() if piece.startswith("--")]
    for flag in chain(inline, flags_given_to_the_exporter(document)):
        assert flag in known, flag


def declared_flags(package: str) -> set[str]:
    """As its source declares them: some packages have a parser for each of their commands."""
    sources = (path.read_text() for path in (ROOT / package).rglob("*.py"))
    return set(chain.from_iterable(re.findall(f'"({FLAG})"', text) for text in sources))


def flags_given_to_the_exporter(document: Document) -> list[str]:
    pieces = [line for piece in document.code() for line in piece.replace("\\\n", " ").splitlines()]
    commands = [line for line in pieces if line.startswith("streamgauge exporter")]
    words = chain.from_iterable(shlex.split(line, comments=True) for line in commands)
    return [word.partition("=")[0] for word in words if word.startswith("--")]


@over_all(DOCUMENTS.values(), "a page names a target that the Makefile does not have", NAME)
def test_every_make_target_named_exists(document: Document) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    for target in chain.from_iterable(TARGET.findall(piece) for piece in document.code()):
        assert target in targets, target


@over_all(DOCUMENTS.values(), "a page has a settings example that the exporter refuses", NAME)
def test_every_settings_example_is_accepted(document: Document) -> None:
    for block in document.blocks("yaml"):
        settings = yaml.safe_load(block)
        if "systems" in settings:
            build(ExporterSettings, settings, document.name)


def test_the_checks_above_see_something() -> None:
    """A pattern that matches nothing would find no fault either."""
    text = Document(ROOT / "x.md", "\n".join(document.text for document in DOCUMENTS.values()))
    assert len(set(text.links())) > 10
    assert len(set(METRIC.findall(text.text))) > 100
    assert {"run", "test", "check", "generate"} <= set(TARGET.findall(text.text))
    assert {"--nats", "--once"} <= set(flags_given_to_the_exporter(text))
    assert len({word for word in text.code() if OUR_PATH.fullmatch(word)}) > 20
    assert sum("systems:" in block for block in text.blocks("yaml")) >= 2


def test_the_readme_fits_a_screen_and_a_bit() -> None:
    assert len(DOCUMENTS["README.md"].text.splitlines()) <= 100


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), ["README.md"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in DOCUMENTS:
            continue
        reached.add(name)
        for link in DOCUMENTS[name].links():
            target = (ROOT / name).parent / link.partition("#")[0]
            inside = sorted(target.glob("*.md")) if target.is_dir() else [target]
            waiting += [str(path.resolve().relative_to(ROOT)) for path in inside]
    assert reached == set(DOCUMENTS)


RECIPES = (
    "Add a metric", "Add an alert", "Add a board", "Add a check", "Add a finding", "Add a chapter",
    "Add a rollup",
)  # fmt: skip


@over_all(RECIPES, "CONTRIBUTING.md: a recipe has at most four steps, each with a file or command")
def test_a_recipe_has_at_most_four_steps_and_names_files(recipe: str) -> None:
    steps = re.findall(r"^\d+\. .*?(?=^\d+\. |\Z)", recipe_text(recipe), re.MULTILINE | re.DOTALL)
    assert 1 <= len(steps) <= 4
    assert all("`" in step for step in steps)


def recipe_text(recipe: str) -> str:
    return DOCUMENTS["CONTRIBUTING.md"].section(recipe).text


def test_decisions_have_number_status_date_and_sections() -> None:
    pages = [one for name, one in DOCUMENTS.items() if name.startswith("docs/decisions/0")]
    index = DOCUMENTS["docs/decisions/README.md"]
    for number, decision in enumerate(pages, start=1):
        assert decision.path.name.startswith(f"{number:04}-"), decision.name
        assert decision.text.startswith(f"# {number}. "), decision.name
        assert re.search(r"^- Status: (accepted|superseded by .+)$", decision.text, re.MULTILINE), (
            f"{decision.name}: write `- Status: accepted` or `- Status: superseded by NUMBER`"
        )
        assert re.search(r"^- Date: \d{4}-\d\d-\d\d$", decision.text, re.MULTILINE), decision.name
        for heading in ("Context", "Decision", "Consequences"):
            assert decision.section(heading).text.strip(), decision.name
    listed = [link for link in index.links() if link.startswith("0")]
    assert listed == [decision.path.name for decision in pages], "docs/decisions/README.md"
