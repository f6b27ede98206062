"""The settings of Spark's S3 client from the variables that all others read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HADOOP: Final = "spark.hadoop.fs.s3a"


def s3a_configuration(environ: Mapping[str, str]) -> dict[str, str]:
    """Credentials are found by the client itself, in the same variables or on the machine."""
    # The default of Hadoop 3.5 reads through a second, asynchronous client.
    found = {"input.stream.type": "classic"}
    if region := environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"):
        found["endpoint.region"] = region
    if endpoint := environ.get("AWS_ENDPOINT_URL"):
        # A server that is not Amazon's has its buckets in the path.
        found |= {
            "endpoint": endpoint,
            "path.style.access": "true",
            "connection.ssl.enabled": str(endpoint.startswith("https://")).lower(),
        }
    return {f"{_HADOOP}.{name}": value for name, value in found.items()}
