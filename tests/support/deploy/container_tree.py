"""A container file carried out in plain folders: each stage is a folder, no engine is needed.

Absolute paths of the image lead into the stage's folder; what installs Debian packages is tried only."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from support.deploy.files import ROOT, instructions

_ABSOLUTE: Final = re.compile(r"(?<![\w.:/])/(?=(?:etc|opt|src|var|wheels)\b)")
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__")


@dataclass
class Stage:
    root: Path
    workdir: str = "/"
    settings: dict[str, str] = field(default_factory=dict)  # USER, HEALTHCHECK, ...

    def place(self, path: str) -> Path:
        return self.root / Path(self.workdir, path).relative_to("/")


class Built:
    """The stages of one container file, by name; the last one is the image."""

    def __init__(self, container_file: Path, folder: Path) -> None:
        self._folder = folder
        self.stages: dict[str, Stage] = {}
        self.packages: list[str] = []
        for word, rest in instructions(container_file):
            self._carry_out(word, rest)

    @property
    def image(self) -> Stage:
        return list(self.stages.values())[-1]

    def _carry_out(self, word: str, rest: str) -> None:
        if word == "FROM":
            name = rest.partition(" AS ")[2] or "image"
            self.stages[name] = Stage(self._folder / name)
            (self._folder / name / "etc").mkdir(parents=True)
        elif word == "WORKDIR":
            self.image.workdir = rest
            self.image.place(".").mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            self._copy(rest)
        elif word == "RUN":
            self._run(rest)
        elif word != "ARG":
            self.image.settings[word] = rest

    def _copy(self, rest: str) -> None:
        words = shlex.split(rest)
        origin = ROOT
        if words[0].startswith("--from="):
            stage = self.stages[words.pop(0).partition("=")[2]]
            origin = stage.root
        *sources, target = words
        into = self.image.place(target)
        for source in sources:
            _copy(origin / source.removeprefix("/"), into, is_folder=target.endswith("/"))

    def _run(self, command: str) -> None:
        if "apt-get" in command:
            self.packages += re.findall(r"\s([a-z0-9-]+-jre-[a-z]+)\b", command)
            return
        moved = _ABSOLUTE.sub(f"{self.image.root}/", command)
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-ec", moved],
            cwd=self.image.place("."),
            env=os.environ | {"PATH": programs},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def _copy(source: Path, target: Path, *, is_folder: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True, ignore=_NOT_COPIED)
    elif is_folder or target.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
