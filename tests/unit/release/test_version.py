"""The version of a tree: from its tag, and clearly marked where there is none."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from release.version import VARIABLE, VersionError, version

IDENTITY = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")


class Tree:
    """A source tree; a repository after the first commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "deploy").mkdir(parents=True)
        (root / "deploy/release.toml").write_text('version = "0.1.0"\n')

    def git(self, *words: str) -> str:
        # Without the repository and the settings of the user who runs the tests.
        clean = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
        clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=self.root, env=clean, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, *tags: str) -> str:
        if not (self.root / ".git").exists():
            self.git("init", "--quiet")
            self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", "x")
        for tag in tags:
            self.git("tag", "--annotate", tag, "--message", tag)
        return f"g{self.git('rev-parse', '--short', 'HEAD')}"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.delenv(VARIABLE, raising=False)
    return Tree(tmp_path / "tree")


def test_a_tagged_commit_has_the_version_of_its_tag(tree: Tree) -> None:
    tree.commit("v1.2.3", "nightly")
    assert version(tree.root) == "1.2.3"


@pytest.mark.parametrize(("tag", "following"), [("v1.2.9", "1.2.10"), ("v2.0.0rc1", "2.0.0rc2")])
def test_a_later_commit_sorts_after_its_tag_and_names_itself(
    tree: Tree, tag: str, following: str
) -> None:
    tree.commit(tag)
    tree.commit()
    commit = tree.commit()
    assert version(tree.root) == f"{following}.dev2+{commit}"


def test_changed_files_are_no_release(tree: Tree) -> None:
    commit = tree.commit("v1.2.3")
    (tree.root / "deploy/release.toml").write_text('version = "9.9.9"\n')
    assert version(tree.root) == f"1.2.4.dev0+{commit}.dirty"


def test_a_clone_without_tags_and_a_tree_without_git_say_so(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert version(tree.root) == "0.1.0+untagged"
    commit = tree.commit()
    assert version(tree.root) == f"0.1.0+untagged.{commit}"
    monkeypatch.setenv("PATH", "/nowhere")
    assert version(tree.root) == "0.1.0+untagged"


def test_the_repository_around_a_tree_does_not_count(tree: Tree) -> None:
    tree.commit("v1.2.3")
    assert version(Tree(tree.root / "vendor/streamgauge").root) == "0.1.0+untagged"


def test_a_source_distribution_keeps_its_version(tree: Tree) -> None:
    (tree.root / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 1.2.3\n")
    tree.commit("v9.9.9")
    assert version(tree.root) == "1.2.3"


def test_an_image_is_built_with_a_given_version(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1.2.3")
    assert version(tree.root) == "1.2.3"


def test_what_is_no_version_is_refused_with_its_place(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.commit("v1.2-final")
    with pytest.raises(VersionError, match=re.escape("tag v1.2-final: '1.2-final' is not")):
        version(tree.root)
    monkeypatch.setenv(VARIABLE, "latest")
    with pytest.raises(VersionError, match=f"{VARIABLE}: 'latest' is not"):
        version(tree.root)
