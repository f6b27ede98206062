"""Each artefact of a release: a function that writes it into the folder of the release."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from release.images import UNKNOWN_DIGEST, build_commands, build_files
from release.packing import folder_contents, write_tar
from release.settings import IMAGES, ROOT, Release, ReleaseError
from release.version import VARIABLE

CHART: Final = ROOT / "deploy" / "helm" / "streamgauge"
WHEEL_LOCK: Final = ROOT / "deploy" / "requirements" / "wheel.txt"


class ProgramMissingError(ReleaseError):
    """An artefact needs a program that is not installed."""


@dataclass(frozen=True)
class Build:
    release: Release
    revision: str
    folder: Path
    base_digest: str = UNKNOWN_DIGEST

    def path(self, part: str) -> Path:
        return self.folder / f"streamgauge-{self.release.version}-{part}"


def packages(build: Build) -> None:
    """The wheel and the source distribution."""
    _python("hatchling", "build", "--directory", str(build.folder), version=build.release.version)


def rules(build: Build) -> None:
    contents = folder_contents(ROOT / "alerts" / "generated", "rules")
    contents |= folder_contents(ROOT / "deploy" / "prometheus" / "compatibility", "compatibility")
    write_tar(build.path("rules.tar.gz"), contents)


def boards(build: Build) -> None:
    """In the form that grafana.com takes."""
    with tempfile.TemporaryDirectory() as place:
        flags = ("render", "--format", "grafana-com", "--out", place)
        _python("streamgauge.cli", "dashboards", *flags)
        write_tar(build.path("boards.tar.gz"), folder_contents(Path(place), "boards"))


def chart(build: Build) -> None:
    _run(_program("helm"), "lint", "--strict", str(CHART))
    release = build.release
    versions = ("--version", release.chart_version, "--app-version", release.image_tag)
    _run(_program("helm"), "package", str(CHART), *versions, "--destination", str(build.folder))


def images(build: Build) -> None:
    """Their build files; building them needs a container engine."""
    write_tar(build.path("images.tar.gz"), build_files())
    commands = build_commands(build.release, build.revision, build.base_digest)
    (build.folder / "images.txt").write_text(commands, encoding="utf-8")


def requirements(build: Build) -> None:
    """What the wheel needs with all its extras, by checksum."""
    shutil.copyfile(WHEEL_LOCK, build.path("requirements.txt"))


def bills_of_materials(build: Build) -> None:
    """Of the wheel with all its extras, and of each image."""
    locked = {name: ROOT / "deploy" / "container" / f"{name}.requirements.txt" for name in IMAGES}
    for name, file in ({"wheel": WHEEL_LOCK} | locked).items():
        flags = ("--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible")
        bill = build.path(f"{name}.cdx.json")
        output = ("--output-file", str(bill))
        _run(_program("cyclonedx-py"), "requirements", *flags, *output, str(file))
        described = json.loads(bill.read_text(encoding="utf-8"))
        # The tool reads it from pyproject.toml, which leaves it to the tag.
        described["metadata"]["component"]["version"] = build.release.version
        bill.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def notes(build: Build) -> None:
    """What the changelog says of this version; before it is cut, what is unreleased."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(
        re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    )
    found = sections.get(build.release.version) or sections.get("Unreleased", "")
    (build.folder / "NOTES.md").write_text(found.strip() + "\n", encoding="utf-8")


def site(build: Build) -> None:
    with tempfile.TemporaryDirectory() as place:
        _python("mkdocs", "build", "--strict", "--quiet", "--site-dir", place)
        # Gzip would put the time of the build into it.
        Path(place, "sitemap.xml.gz").unlink(missing_ok=True)
        write_tar(build.path("docs.tar.gz"), folder_contents(Path(place), "docs"))


ARTEFACTS: Final[dict[str, Callable[[Build], None]]] = {
    "packages": packages,
    "rules": rules,
    "boards": boards,
    "chart": chart,
    "images": images,
    "requirements": requirements,
    "bills": bills_of_materials,
    "site": site,
    "notes": notes,
}


def _python(module: str, *words: str, version: str = "") -> None:
    _run(sys.executable, "-m", module, *words, **({VARIABLE: version} if version else {}))


def _program(name: str) -> str:
    """Beside this Python, else on PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise ProgramMissingError(f"{name} is not installed")
    return found


def _run(*words: str, **variables: str) -> None:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"} | variables
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{Path(words[0]).name}: exit {done.returncode}\n{done.stdout}{done.stderr}")  # fmt: skip
