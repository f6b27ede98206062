"""A small SMTP server on loopback that keeps what it receives."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Mailbox:
    port: int = 0
    refuse: str = ""  # a recipient that is refused
    received: list[tuple[str, list[str], bytes]] = field(default_factory=list)


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        mailbox: Mailbox = self.server.mailbox  # type: ignore[attr-defined]
        sender, recipients = "", list[str]()
        self._say("220 ready")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            verb, _, rest = line.partition(" ")
            match verb.upper():
                case "EHLO" | "HELO":
                    self._say("250 hello")
                case "MAIL":
                    sender = _address(rest)
                    self._say("250 ok")
                case "RCPT":
                    refused = _address(rest) == mailbox.refuse
                    if not refused:
                        recipients.append(_address(rest))
                    self._say("550 no such user" if refused else "250 ok")
                case "DATA":
                    self._say("354 go on")
                    mailbox.received.append((sender, recipients, self._body()))
                    self._say("250 stored")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 ok")

    def _body(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


def _address(text: str) -> str:
    return text.partition("<")[2].partition(">")[0]


@contextmanager
def mail_server(refuse: str = "") -> Iterator[Mailbox]:
    mailbox = Mailbox(refuse=refuse)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session) as server:
        server.daemon_threads = True
        server.mailbox = mailbox  # type: ignore[attr-defined]
        mailbox.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield mailbox
        finally:
            server.shutdown()
            thread.join()
