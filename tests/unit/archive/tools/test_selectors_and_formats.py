"""The small parts of the tools: selectors, times, bars, texts and messages."""

import argparse
import io
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.documents import ROOT

from archive import progress
from archive.progress import ConsoleProgress, NoProgress
from archive.remote_write.protobuf import MalformedError
from archive.series.labels import RefusedError
from archive.tools.arguments import bytes_text, milliseconds, span
from archive.tools.command_line import TOOLS
from archive.tools.errors import ToolError
from archive.tools.exporting.openmetrics_text import (
    number_text,
    sample_lines,
    series_text,
    time_text,
)
from archive.tools.importing.batch import ImportBatch, ImportedSeries, bits
from archive.tools.importing.openmetrics import OpenMetricsReader
from archive.tools.importing.remote_messages import read_response, split_batch, write_request
from archive.tools.opaque_messages import (
    Exemplar,
    Metadata,
    read_exemplar,
    read_metadata,
    write_exemplar,
    write_metadata,
)
from archive.tools.series_selector import chosen, parse_selector
from streamgauge.protobuf import write_message

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

MINUTE = 60_000
HOUR = 60 * MINUTE
names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
label_sets = st.dictionaries(names.filter(lambda name: name != "__name__"), texts, max_size=3)
values = st.floats()


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("up", {"__name__": "up"}, True),
        ("up", {"__name__": "upper"}, False),
        ('{job="a"}', {"__name__": "up", "job": "a"}, True),
        ('up{job!="a"}', {"__name__": "up"}, True),
        ('up{job=""}', {"__name__": "up"}, True),
        ('up{job=~"a|b"}', {"__name__": "up", "job": "b"}, True),
        ('up{job=~"a"}', {"__name__": "up", "job": "ab"}, False),
        ("up{job!~'a.*', }", {"__name__": "up", "job": "ab"}, False),
        (r'up{a="x\"}\n",b="y"}', {"__name__": "up", "a": 'x"}\n', "b": "y"}, True),
        ('{__name__=~"u.*"}', {"__name__": "up"}, True),
    ],
)
def test_a_selector_chooses_as_prometheus_does(
    text: str, labels: dict[str, str], matches: bool
) -> None:
    assert chosen(labels, [parse_selector(text)]) is matches


@pytest.mark.parametrize("text", ["", "{}", "up{", "up}", "up{a}", 'up{a="b" c="d"}', "1up", "a b"])
def test_what_is_no_selector_is_named(text: str) -> None:
    with pytest.raises(ToolError, match=re.escape(repr(text))):
        parse_selector(text)


def test_any_of_several_selectors_is_enough_and_none_takes_all() -> None:
    both = [parse_selector("up"), parse_selector("down")]
    assert chosen({"__name__": "down"}, both)
    assert not chosen({"__name__": "left"}, both)
    assert chosen({"__name__": "left"}, [])


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1790553600", 1_790_553_600_000),
        ("1790553600.0015", 1_790_553_600_002),
        ("2026-09-28", 1_790_553_600_000),
        ("2026-09-28T00:00:01", 1_790_553_601_000),
        ("2026-09-28T02:00+02:00", 1_790_553_600_000),
    ],
)
def test_times_are_read_in_utc_unless_they_say_otherwise(text: str, time: int) -> None:
    assert milliseconds(text, "--from") == time


def test_a_span_must_have_a_length() -> None:
    assert span("5", None, (0, 9000)) == (5000, 9000)
    with pytest.raises(ToolError, match="--to: 5 is not after 6"):
        span("6", "5", (0, 9))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e12, "2.5 TB")]
)
def test_sizes_are_short(size: float, text: str) -> None:
    assert bytes_text(size) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with ConsoleProgress(stream).work("importing " + "very " * 30, 4) as step:
        for _ in range(4):
            step(1)
    return stream.getvalue()


def test_a_bar_stays_on_its_line_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(Terminal(), monkeypatch)
    shown = text.split("\r")[1:]
    assert len(shown) == 5
    assert shown[-1] == "\x1b[K"
    assert all(len(each.removesuffix("\x1b[K")) < 80 for each in shown)
    assert "\n" not in text


def test_elsewhere_progress_is_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(io.StringIO(), monkeypatch)
    assert text.count("\n") == 4
    assert all(len(line) < 80 and line.isprintable() for line in text.splitlines())


def test_a_bar_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = Terminal()
    with ConsoleProgress(stream).work("verifying", 4) as step:
        step(1)
        step(2)
    assert "verifying  25% [######..................] 30 s left" in stream.getvalue()
    assert "verifying  75% [##################......] 7 s left" in stream.getvalue()


def test_short_work_and_a_server_show_nothing() -> None:
    stream = Terminal()
    with ConsoleProgress(stream).work("quick", 1) as step:
        step(1)
    with NoProgress().work("silent", 1) as step:
        step(1)
    assert stream.getvalue() == ""


@unhurried
@given(
    label_sets, names, st.lists(st.tuples(st.integers(0, 2**42), values), min_size=1, max_size=5)
)
def test_what_export_writes_import_reads(
    labels: dict[str, str], name: str, reported: list[tuple[int, float]]
) -> None:
    identity = tuple(sorted({**labels, "__name__": name}.items()))
    times, numbers = [time for time, _ in reported], [value for _, value in reported]
    lines = [*sample_lines(series_text(identity), times, numbers, {}), "# EOF\n"]
    (batch,) = OpenMetricsReader("x").batches(lines, lambda _: None)
    (series,) = batch.series
    assert series.labels == identity
    assert series.times.tolist() == times
    assert series.bits.tolist() == bits(numbers).tolist()


# The reference parser refuses names that begin with two underscores; Prometheus reserves them.
ordinary_label_sets = label_sets.filter(lambda labels: not any(n.startswith("__") for n in labels))


@unhurried
@given(ordinary_label_sets, st.lists(values, min_size=1, max_size=3))
def test_the_reference_parser_agrees_with_the_export(
    labels: dict[str, str], numbers: list[float]
) -> None:
    identity = tuple(sorted({**labels, "__name__": "m"}.items()))
    times = [1000 * place + 1 for place in range(len(numbers))]
    text = "".join(sample_lines(series_text(identity), times, numbers, {})) + "# EOF\n"
    (family,) = text_string_to_metric_families(text)
    assert [sample.labels for sample in family.samples] == [labels] * len(numbers)
    for sample, value in zip(family.samples, numbers, strict=True):
        assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.0, "-0.0"), (0.1, "0.1"), (1e300, "1e+300"), (2.0**53, "9007199254740992.0")],
)
def test_numbers_are_short_and_exact(value: float, text: str) -> None:
    assert number_text(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0"), (1500, "1.500"), (-1, "-0.001"), (1_790_553_600_007, "1790553600.007")],
)
def test_times_are_seconds(time: int, text: str) -> None:
    assert time_text(time) == text


@unhurried
@given(
    st.dictionaries(texts, texts, max_size=3),
    st.floats(allow_nan=False),
    st.integers(-(2**40), 2**40),
)
def test_an_exemplar_comes_back(labels: dict[str, str], value: float, time: int) -> None:
    exemplar = Exemplar(tuple(labels.items()), value, time)
    assert read_exemplar(write_exemplar(exemplar)) == exemplar


@unhurried
@given(
    texts,
    st.sampled_from(["counter", "gauge", "stateset"]),
    st.text(st.characters(exclude_categories=("Cs",))),
)
def test_metadata_comes_back(family: str, kind: str, about: str) -> None:
    metadata = Metadata(family, kind, about, "seconds")
    assert read_metadata(write_metadata(metadata)) == metadata


@unhurried
@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_an_error_of_the_decoder(data: bytes) -> None:
    for read in (read_metadata, read_exemplar):
        try:
            read(data)
        except (MalformedError, RefusedError):
            continue


@unhurried
@given(
    st.lists(
        st.tuples(
            label_sets.filter(bool),
            st.lists(
                st.tuples(st.integers(-(2**50), 2**50), st.integers(0, 2**64 - 1)), min_size=1
            ),
        ),
        max_size=4,
    )
)
def test_what_remote_write_sends_remote_read_reads(
    reported: list[tuple[dict[str, str], list[tuple[int, int]]]],
) -> None:
    """A read response contains the same series, one message deeper."""
    batch = ImportBatch([imported(labels, samples) for labels, samples in reported])
    request = write_request(batch)
    found = read_response(write_message(1, request), "")
    assert plain(found) == plain(batch)


@unhurried
@given(st.lists(st.integers(1, 9), max_size=6), st.integers(1, 12))
def test_chunks_make_the_whole_and_keep_to_their_size(lengths: list[int], size: int) -> None:
    series = [
        imported({"n": str(n)}, [(t, t) for t in range(length)]) for n, length in enumerate(lengths)
    ]
    found = list(split_batch(ImportBatch(series), size))
    assert all(len(chunk) <= 2 * size for chunk in found)
    rows = [
        (each.labels, time)
        for chunk in found
        for each in chunk.series
        for time in each.times.tolist()
    ]
    assert rows == [(each.labels, time) for each in series for time in each.times.tolist()]


def imported(labels: dict[str, str], samples: list[tuple[int, int]]) -> ImportedSeries:
    times = np.array([time for time, _ in samples], np.int64)
    return ImportedSeries(
        tuple(sorted(labels.items())), times, np.array([value for _, value in samples], np.uint64)
    )


def plain(batch: ImportBatch) -> list[object]:
    return [(each.labels, each.times.tolist(), each.bits.tolist()) for each in batch.series]


def test_the_page_names_every_flag_and_no_other() -> None:
    made = argparse.ArgumentParser()
    for tool in TOOLS.values():
        tool.add_arguments(argparse_part := argparse.ArgumentParser(add_help=False))
        made._actions += argparse_part._actions
    known = {text for action in made._actions for text in action.option_strings} - {"-h", "--help"}
    page = (ROOT / "docs/archive-tools.md").read_text()
    assert set(re.findall(r"--[a-z][a-z-]*", page)) == known
