"""`streamgauge archive inspect|verify|import|export|compact`: the tools beside the server."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from archive.progress import ConsoleProgress
from archive.tables.manifest_store import ManifestError
from archive.tables.storage import StorageError
from archive.tools import compact_command
from archive.tools.archive_view import ArchiveMissingError
from archive.tools.errors import ToolError
from archive.tools.exporting import export_command
from archive.tools.importing import import_command
from archive.tools.inspecting import inspect_command
from archive.tools.verifying import verify_command
from archive.wal.errors import WalError
from streamgauge.serving.log_escape import one_line

COMMANDS = {
    "inspect": (inspect_command, "what an archive holds: days, series, bytes per sample, gaps"),
    "verify": (verify_command, "check every file, row and statistic of an archive"),
    "import": (import_command, "take in samples of a Prometheus server or an OpenMetrics file"),
    "export": (export_command, "write an archive as OpenMetrics text"),
    "compact": (compact_command, "publish the log and merge the files of days, at once"),
}
_INPUT_ERRORS = (ToolError, ArchiveMissingError, ManifestError, StorageError, WalError)


class _Parser(argparse.ArgumentParser):
    """Complains in one line that names the flag."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument (-?-?[\w-]+)(?:/\S+)?: (.*)", message)
        raise ToolError(f"{named[1]}: {named[2]}" if named else message)


def parser() -> argparse.ArgumentParser:
    made = _Parser(prog="streamgauge archive", allow_abbrev=False)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        one = commands.add_parser(name, help=what, description=module.__doc__, allow_abbrev=False)
        module.add_arguments(one)
    return made


def main(argv: Sequence[str]) -> int:
    """0 when all is well, 1 when a check found something, 2 when it could not be done."""
    try:
        args = parser().parse_args(argv)
        code: int = COMMANDS[args.command][0].run(args, ConsoleProgress())
    except _INPUT_ERRORS as error:
        sys.stderr.write(f"streamgauge: {one_line(str(error))}\n")
        return 2
    except BrokenPipeError:
        # Whoever read it has seen enough; without this Python would complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
