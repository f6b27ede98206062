"""docs/checks.md: examples of evidence and complete sections."""

from support.audit.examples import FILE, generate
from support.audit.rules import assert_rule, check_file

from exporter.audit.examples import examples, to_tsv
from exporter.audit.registry import codes
from exporter.pages.reference.checks import render

PARTS = ("Found when", "Evidence, for example", "Why it matters", "What to do")


def section(page: str, code: str) -> str:
    return page.partition(f"\n## {code}\n")[2].partition("\n## ")[0]


def test_the_examples_are_up_to_date() -> None:
    how = "run `python -m support.audit.examples` in tests/, then make generate"
    assert FILE.read_text(encoding="utf-8") == to_tsv(generate()), how


def test_every_check_has_an_example_on_its_page() -> None:
    assert set(examples()) == codes()
    page = render()
    assert_rule(
        "the page does not show the example of the check",
        (
            check_file(code)
            for code, evidence in examples().items()
            if f"`{evidence}`" not in section(page, code)
        ),
    )


def test_every_section_is_complete() -> None:
    page = render()
    wanted = [*(f"- **{part}:** " for part in PARTS), "```sh\nnats "]
    assert_rule(
        "a section of docs/checks.md is incomplete",
        (
            f"{check_file(code)}: {part!r} is missing"
            for code in codes()
            for part in wanted
            if part not in section(page, code)
        ),
    )
