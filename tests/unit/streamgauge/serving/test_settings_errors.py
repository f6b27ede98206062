"""Errors in a settings file: one exact line that names what and where."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.example_settings import Example, load, write

from streamgauge.serving.settings.loader import SettingsError, build, load_yaml

ONE_SYSTEM = "systems:\n  - name: a\n    "
ERRORS = {
    "bad duration": (
        ONE_SYSTEM + "interval: 5 parsecs",
        'systems[0].interval: "5 parsecs" is not a duration (write it like 15s or 1m30s)',
    ),
    "bare number as duration": (
        ONE_SYSTEM + "interval: 15",
        "systems[0].interval: 15 is not a duration (write it like 15s or 1m30s)",
    ),
    "duration below the least": (
        ONE_SYSTEM + "interval: 10ms",
        'systems[0].interval: "10ms" is too small (at least 1s)',
    ),
    "duration above the most": (
        ONE_SYSTEM + "interval: 2h",
        'systems[0].interval: "2h" is too large (at most 1h)',
    ),
    "bad size": ("buffer: 64", "buffer: 64 is not a size (write it like 64MiB or 512KiB)"),
    "unknown key, near": ("lisen: x", "lisen: unknown key (did you mean listen?)"),
    "unknown key, far": (
        "\nlogs:\n  zzz: 1",
        "logs: line 3: unknown key (known: level)",
    ),
    "unknown key in a list": (
        ONE_SYSTEM + "intervall: 5s",
        "systems[0].intervall: unknown key (did you mean interval?)",
    ),
    "missing": ("systems: [{urls: []}]", "systems[0].name: is missing, and it has no default"),
    "no value": ("listen:", "listen: has no value (omit the key to get its default)"),
    "no value in a list": (
        ONE_SYSTEM + "urls: [a, ~]",
        "systems[0].urls[1]: has no value (omit the key to get its default)",
    ),
    "number for text": ("listen: 7778", "listen: 7778 is not text (put it in quotes)"),
    "list for text": ("listen: [a]", "listen: a list is not text"),
    "text for a number": ('most: "7"', 'most: "7" is not a whole number'),
    "fraction for a whole number": ("most: 1.5", "most: 1.5 is not a whole number"),
    "truth for a whole number": ("most: true", "most: true is not a whole number"),
    "number too big": ("share: 1e999", "share: Infinity is not a number"),
    "word for a truth": ("loud: yes", 'loud: "yes" is not true or false'),
    "empty path": ('folder: ""', 'folder: "" is not a path'),
    "bad regular expression": (
        'streams: "(a"',
        'streams: "(a" is not a regular expression: missing ), unterminated subpattern'
        " at position 0",
    ),
    "bad choice of an enum": (
        ONE_SYSTEM + "source: magic",
        'systems[0].source: "magic" is not one of account, system',
    ),
    "bad choice of a literal": (
        "logs: {level: loud}",
        'logs.level: "loud" is not one of debug, info',
    ),
    "text for a list": (
        ONE_SYSTEM + "urls: nats://a",
        'systems[0].urls: "nats://a" is not a list (write each item on a line after a dash)',
    ),
    "text for a section": ("logs: x", 'logs: "x" is not a mapping (write it as key: value)'),
    "text for a mapping": (
        "X-Headers: x",
        'X-Headers: "x" is not a mapping (write it as key: value)',
    ),
    "wrong value in a mapping": (
        "X-Headers: {a: 1}",
        "X-Headers.a: 1 is not text (put it in quotes)",
    ),
    "two settings that disagree": (
        ONE_SYSTEM + "password: hunter2",
        "systems[0].urls: is missing beside a password",
    ),
    "wrong kind of secret": (
        ONE_SYSTEM + "password: 12345",
        "systems[0].password: the value (not shown) is not text (put it in quotes)",
    ),
    "wrong kind of text that is secret": (
        ONE_SYSTEM + "pin: 12345",
        "systems[0].pin: the value (not shown) is not text (put it in quotes)",
    ),
    "long value, cut": (
        f"loud: {'x' * 100}",
        f'loud: "{"x" * 58}… is not true or false',
    ),
    "value of several lines": (
        'loud: "a\\nb\\e[31m"',
        'loud: "a\\nb\\u001b[31m" is not true or false',
    ),
    "key twice": (
        "systems:\n  - name: a\n    urls: []\n    name: b\n",
        "systems[0].name: is given twice (line 2 and line 4)",
    ),
    "key that is no text": ("7: x", "line 1: the key 7 is not text (put it in quotes)"),
    "key that is a list": (
        "logs:\n  ? [a]\n  : b",
        "logs: line 2: the key here is not text (put it in quotes)",
    ),
    "list at the top": ("- a\n- b", "a list is not a mapping (write it as key: value)"),
    "text at the top": ("hello", '"hello" is not a mapping (write it as key: value)'),
    "syntax": ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
    "unclosed list": (
        "a: [1,\nb: 2",
        "line 2, column 5: expected ',' or ']', but got '<stream end>'",
    ),
    "tab": ("logs:\n\tlevel: info", "line 2, column 1: a tab, where YAML takes only spaces"),
    "two documents": (
        "a: 1\n---\nb: 2",
        "line 2, column 1: expected a single document in the stream but found another document",
    ),
    "tag": (
        "a: !!python/object:os.system x",
        "line 1, column 4: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like a tag": (
        ONE_SYSTEM + "password: !hunter2",
        "line 3, column 15: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like a tag with a handle": (
        ONE_SYSTEM + "password: !hunter!2",
        "line 3, column 15: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like an alias": (
        ONE_SYSTEM + "password: *hunter2",
        "line 3, column 15: an alias without an anchor (put text that begins with * in quotes)",
    ),
    "secret that looks like an anchor": (
        "a: &hunter2 x\n" + ONE_SYSTEM + "password: &hunter2 x",
        "line 4, column 15: an anchor for the second time (put text that begins with & in quotes)",
    ),
    "value that holds itself": (
        "logs: &a {b: *a}",
        "line 1, column 7: found unconstructable recursive node",
    ),
    "value nested without end": ("a: " + "[" * 5000, "is nested too deeply"),
    "control character": ("a: 1\nb: \x00", "line 2: control character U+0000"),
    "not UTF-8": (b"a: \xff", "is not UTF-8 text (byte 4)"),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_one_exact_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    path = Path("streamgauge.yml")

    with pytest.raises(SettingsError) as caught:
        build(Example, load_yaml(path), path)

    assert str(caught.value) == f"streamgauge.yml: {message}"


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "none.yml"

    with pytest.raises(SettingsError) as caught:
        load_yaml(missing)
    with pytest.raises(SettingsError) as caught_folder:
        load_yaml(tmp_path)

    assert str(caught.value) == f"{missing}: cannot be read: No such file or directory"
    assert str(caught_folder.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_an_error_carries_its_parts() -> None:
    with pytest.raises(SettingsError) as caught:
        build(Example, {"most": "x"}, "a.yml")

    parts = (caught.value.file, caught.value.key, caught.value.reason)
    assert parts == ("a.yml", "most", '"x" is not a whole number')


YAML_PIECES = [*"ab:-[]{}#&*!|>'\"%@`\t\n ,0.~<?\\", "\n  - ", ": ", "true", "1e9", "<<: *a", "&a "]
KEYS = ["systems", "name", "interval", "urls", "logs", "level", "most", "streams", "X-Headers"]


@hypothesis.settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(YAML_PIECES + KEYS)).map("".join)))
def test_no_text_in_a_file_gives_anything_but_settings_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    message = "one line"
    try:
        load(tmp_path_factory.getbasetemp(), text)
    except SettingsError as error:
        message = str(error)

    assert len(message.splitlines()) == 1
