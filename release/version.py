"""The version of this tree, from its tag. The build backend runs this file by itself: only the standard library.

In this order: the variable VERSION_FOR_STREAMGAUGE (a build of an image has no repository), the metadata of
a source distribution, the newest tag of the repository, and `version` in deploy/release.toml, marked as
untagged.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VARIABLE = "VERSION_FOR_STREAMGAUGE"
_FORM = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?")
_DESCRIBED = re.compile(r"v(.+)-(\d+)-(g[0-9a-f]+)((?:-dirty)?)")


class VersionError(Exception):
    """A given version that no package can have; the text names it and its place."""


def version(root: Path = ROOT) -> str:
    given = os.environ.get(VARIABLE, "")
    if given:
        return _checked(given, VARIABLE)
    return _of_sources(root) or _of_tag(root) or _untagged(root)


def _of_sources(root: Path) -> str:
    """What the metadata of a source distribution say; empty elsewhere."""
    path = root / "PKG-INFO"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(r"^Version: (.+)$", text, re.MULTILINE)
    return _checked(found[1], str(path)) if found else ""


def _of_tag(root: Path) -> str:
    """1.2.3 at the tag v1.2.3; 1.2.4.dev5+gHASH five commits later. Empty without a tag."""
    described = _git(root, "describe", "--tags", "--long", "--dirty", "--match", "v[0-9]*")
    found = _DESCRIBED.fullmatch(described)
    if not found:
        return ""
    tag, commits, commit, dirty = found.groups()
    _checked(tag, f"tag v{tag}")
    if commits == "0" and not dirty:
        return tag
    local = f"{commit}{dirty.replace('-', '.')}"
    return f"{_following(tag)}.dev{commits}+{local}"


def _following(tag: str) -> str:
    """The last number plus one: its builds sort after the tag and before the next release."""
    before, last = re.fullmatch(r"(.*?)(\d+)", tag).groups()  # type: ignore[union-attr]
    return f"{before}{int(last) + 1}"


def _untagged(root: Path) -> str:
    path = root / "deploy" / "release.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8"))["version"]
    commit = _git(root, "rev-parse", "--short", "HEAD")
    return _checked(f"{known}+untagged{f'.g{commit}' if commit else ''}", str(path))


def _git(root: Path, *words: str) -> str:
    """Empty without git, and where the tree is not the top of a repository."""
    try:
        top = _run(root, "rev-parse", "--show-toplevel")
        return _run(root, *words) if top and Path(top) == root.resolve() else ""
    except OSError:  # git is not installed
        return ""


def _run(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout.strip() if done.returncode == 0 else ""


def _checked(text: str, place: str) -> str:
    if not _FORM.fullmatch(text):
        raise VersionError(f"{place}: {text!r} is not a version like 1.2.3 or 1.2.3rc1")
    return text
