"""One example of evidence per check, for docs/checks.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

# Generated from the test cases of the checks by tests/support/audit/examples.py.
FILE = "examples.tsv"


@cache
def examples() -> Mapping[str, str]:
    """By check code."""
    text = files("exporter.audit").joinpath(FILE).read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines())
    return {code: evidence for code, _, evidence in pairs}


def to_tsv(found: Mapping[str, str]) -> str:
    return "".join(f"{code}\t{evidence}\n" for code, evidence in found.items())
