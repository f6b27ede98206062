"""What the nats CLI understands, from its own help (docs/data), and what is wrong with a command."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from support.documents import ROOT

DATA: Final = ROOT / "docs/data/nats-cli-0.4.0.tsv"
# Shell words before a command, in a loop or a condition.
_LEAD_IN: Final = {"do", "then", "if", "while", "!", "watch"}
_OPERATOR: Final = re.compile(r"[|&;()<>]+")


@dataclass(frozen=True)
class Command:
    arguments: tuple[str, ...]  # "<stream>" must be there, "[<stream>]" may be
    flags: frozenset[str]
    is_group: bool
    scope: str  # "system": it needs the system account; "user"; "-": it needs no server

    def takes(self, count: int) -> bool:
        needed = sum(argument.startswith("<") for argument in self.arguments)
        return needed <= count <= len(self.arguments)


@dataclass(frozen=True)
class Cli:
    version: str
    global_flags: frozenset[str]
    commands: Mapping[tuple[str, ...], Command]
    # Each command of a group by all of its names.
    names: Mapping[tuple[tuple[str, ...], str], str]

    def complaint(self, words: Sequence[str]) -> str | None:
        """What the program would refuse in `nats <words>`, if anything."""
        path, rest = self._resolve(words)
        command = self.commands.get(path)
        if command is None:
            return "names no sub-command"
        if command.is_group:
            return f"{' '.join(path)} has no sub-command {rest[0] if rest else 'given'}"
        arguments, flags = _arguments_and_flags(rest)
        if unknown := sorted(set(flags) - self._flags_of(path)):
            return f"{' '.join(path)} has no flag {unknown[0]}"
        if not command.takes(len(arguments)):
            wanted = " ".join(command.arguments) or "nothing"
            return f"{' '.join(path)} takes {wanted}, not {' '.join(arguments) or 'nothing'}"
        return None

    def scope(self, words: Sequence[str]) -> str:
        """Whose user `nats <words>` needs."""
        return self.commands[self._resolve(words)[0]].scope

    def _resolve(self, words: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
        path: tuple[str, ...] = ()
        for place, word in enumerate(words):
            name = self.names.get((path, word))
            if name is None:
                return path, words[place:]
            path = (*path, name)
            if not self.commands[path].is_group:
                return path, words[place + 1 :]
        return path, ()

    def _flags_of(self, path: tuple[str, ...]) -> frozenset[str]:
        levels = (self.commands[path[:depth]].flags for depth in range(1, len(path) + 1))
        return self.global_flags.union(*levels)


def _arguments_and_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our pages write arguments before flags: only so a flag's value differs from an argument."""
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    flags = [word.partition("=")[0] for word in words[first:] if word.startswith("-")]
    return list(words[:first]), flags


@cache
def nats_cli() -> Cli:
    version, global_flags = "", frozenset[str]()
    commands: dict[tuple[str, ...], Command] = {}
    names: dict[tuple[tuple[str, ...], str], str] = {}
    for line in DATA.read_text().splitlines():
        if found := re.fullmatch(r"# nats CLI (\S+)", line):
            version = found[1]
        elif line.startswith("# global flags\t"):
            global_flags = _flags(line.partition("\t")[2])
        elif not line.startswith("#"):
            name, aliases, arguments, flags, scope = line.split("\t")
            path = tuple(name.split())
            group = arguments == "group"
            listed = () if arguments in ("group", "-") else tuple(arguments.split())
            commands[path] = Command(listed, _flags(flags), group, scope)
            for known in (path[-1], *re.findall(r"[\w-]+", aliases.lstrip("-"))):
                names[path[:-1], known] = path[-1]
    return Cli(version, global_flags, commands, names)


def _flags(text: str) -> frozenset[str]:
    """`--[no-]x` stands for both."""
    found: set[str] = set()
    for flag in text.split():
        bare = flag.replace("[no-]", "")
        found |= {bare, bare.replace("--", "--no-", 1)} if bare != flag else {flag}
    return frozenset(found - {"-"})


def programs_called(shell: str) -> Iterator[list[str]]:
    """The words of each simple command in a shell snippet, the program first."""
    for line in shell.replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in _shell_words(line):
            if _OPERATOR.fullmatch(word):
                yield from _without_lead_in(words)
                words = []
            else:
                words.append(word)
        yield from _without_lead_in(words)


def _shell_words(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    yield from lexer


def _without_lead_in(words: list[str]) -> Iterator[list[str]]:
    while words and words[0] in _LEAD_IN:
        words = words[1:]
    if words and words[0] not in ("for", "done", "fi"):
        yield words
