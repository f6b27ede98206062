"""A small SMTP server on loopback that keeps what it receives; with TLS and login if asked."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.certificates import Certificate


@dataclass
class Mailbox:
    port: int = 0
    refuse: str = ""  # a recipient that is refused
    certificate: Certificate | None = None
    starttls: bool = True  # False: TLS from the first byte
    login: tuple[str, str] | None = None  # user and password that a client must send
    encrypted: list[bool] = field(default_factory=list)  # of each mail
    received: list[tuple[str, list[str], bytes]] = field(default_factory=list)


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        mailbox: Mailbox = self.server.mailbox  # type: ignore[attr-defined]
        sender, recipients, trusted = "", list[str](), mailbox.login is None
        if mailbox.certificate is not None and not mailbox.starttls and not self._encrypt():
            return
        self._say("220 ready")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            verb, _, rest = line.partition(" ")
            match verb.upper():
                case "EHLO" | "HELO":
                    self._say(*self._features(mailbox))
                case "STARTTLS":
                    self._say("220 go on")
                    if not self._encrypt():
                        return
                case "AUTH":
                    sent = base64.b64decode(rest.rpartition(" ")[2]).decode().split("\0")[1:]
                    trusted = tuple(sent) == mailbox.login
                    self._say("235 welcome" if trusted else "535 wrong user or password")
                case "MAIL" if not trusted:
                    self._say("530 login first")
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
                    mailbox.encrypted.append(isinstance(self.connection, ssl.SSLSocket))
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

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def _features(self, mailbox: Mailbox) -> list[str]:
        plain = not isinstance(self.connection, ssl.SSLSocket)
        offered = ["STARTTLS"] if mailbox.certificate and mailbox.starttls and plain else []
        offered += ["AUTH PLAIN"] if mailbox.login else []
        *first, last = ["hello", *offered]
        return [*(f"250-{each}" for each in first), f"250 {last}"]

    def _encrypt(self) -> bool:
        """Whether the client accepts the certificate."""
        certificate: Certificate = self.server.mailbox.certificate  # type: ignore[attr-defined]
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate.cert, certificate.key)
        try:
            self.connection = context.wrap_socket(self.connection, server_side=True)
        except OSError:
            return False
        self.rfile.close()
        self.wfile.close()
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        return True


def _address(text: str) -> str:
    return text.partition("<")[2].partition(">")[0]


@contextmanager
def mail_server(
    refuse: str = "", certificate: Certificate | None = None, starttls: bool = True,
    login: tuple[str, str] | None = None,
) -> Iterator[Mailbox]:  # fmt: skip
    mailbox = Mailbox(refuse=refuse, certificate=certificate, starttls=starttls, login=login)
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
