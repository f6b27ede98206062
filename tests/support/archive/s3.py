"""An S3 server on loopback, in a process of its own: some calls of delta-rs hold the GIL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import boto3  # type: ignore[import-untyped]

BUCKET: Final = "archive"
_SERVE: Final = """
import logging, threading
from werkzeug.serving import make_server
from moto.server import DomainDispatcherApplication, create_backend_app
logging.getLogger("werkzeug").setLevel(logging.ERROR)
inner, puts = DomainDispatcherApplication(create_backend_app), threading.Lock()
def serve(environ, start):
    if environ["REQUEST_METHOD"] != "PUT":
        return inner(environ, start)
    # moto checks If-None-Match and then stores: two threads may both succeed, which S3 excludes.
    with puts:
        return list(inner(environ, start))
server = make_server("127.0.0.1", 0, serve, threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """Yields the environment variables that lead to it."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            endpoint = f"http://127.0.0.1:{int(process.stdout.readline())}"
            environment = {
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_ALLOW_HTTP": "true",
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            boto3.client(
                "s3", region_name="us-east-1", endpoint_url=endpoint,
                aws_access_key_id="key", aws_secret_access_key="secret",
            ).create_bucket(Bucket=BUCKET)  # fmt: skip
            yield environment
        finally:
            process.kill()


def upload(folder: Path, prefix: str) -> None:
    """Copies the files into the bucket of the server that the environment leads to."""
    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(folder).as_posix()}"
            client.upload_file(str(path), BUCKET, key)
