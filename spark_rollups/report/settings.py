"""The settings file of `streamgauge report`: owners and where the report is sent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streamgauge.serving.settings.loader import (
    REQUIRED,
    InvalidSettingError,
    build,
    load_yaml,
    setting,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRule:
    """The owner of all assets that match; patterns as in the shell."""

    system: str = setting("*", "Pattern of the system, like `prod*`.")
    account: str = setting("*", "Pattern of the account.")
    stream: str = setting("*", "Pattern of the stream.")
    consumer: str = setting("*", "Pattern of the consumer.")
    server: str = setting("*", "Pattern of the server.")
    owner: str = setting("", "The person or mailbox that is responsible.")
    team: str = setting("", "The team that is responsible.")

    def __post_init__(self) -> None:
        if not self.owner and not self.team:
            raise InvalidSettingError("needs an owner or a team", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    host: str = setting(REQUIRED, "The SMTP server.")
    port: int = setting(587, "Its port.", minimum=1, maximum=65_535)
    encryption: Literal["starttls", "tls", "none"] = setting(
        "starttls", "`starttls` and `tls` verify the certificate; `none` is for a local relay."
    )
    username: str = setting("", "User name, if the server needs one.")
    password_file: Path | None = setting(None, "File with the password.")
    sender: str = setting(REQUIRED, "The address in From.")
    recipients: tuple[str, ...] = setting(REQUIRED, "The addresses in To.")
    attach: tuple[Literal["html", "pdf", "json", "csv"], ...] = setting(
        ("html",), "The files attached: `html`, `pdf`, `json`, `csv` (a zip)."
    )

    def __post_init__(self) -> None:
        if not self.recipients:
            raise InvalidSettingError("needs at least one address", "recipients")
        if bool(self.username) != (self.password_file is not None):
            raise InvalidSettingError("username and password_file belong together", "username")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    url: str = setting("", "The address; for a secret one use url_file.", secret=True)
    url_file: Path | None = setting(None, "File with the address.")
    format: Literal["json", "slack"] = setting(
        "json", "`slack`: a message of the Slack API; `json`: summary and actions."
    )

    def __post_init__(self) -> None:
        if bool(self.url) == (self.url_file is not None):
            raise InvalidSettingError("needs either url or url_file", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    owners: tuple[OwnerRule, ...] = setting(
        (), "Owners of assets without `io.streamgauge.owner` and `team`. The first match counts."
    )
    link: str = setting("", "Public address of the output folder, for links in messages.")
    mail: MailSettings | None = setting(None, "Where `--send` mails the report.")
    webhooks: tuple[WebhookSettings, ...] = setting((), "Where `--send` posts the summary.")


def read_settings(path: str | None) -> ReportSettings:
    """Raises SettingsError; without a file the defaults."""
    if path is None:
        return ReportSettings()
    return build(ReportSettings, load_yaml(Path(path)), path)
