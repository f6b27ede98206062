# The archive: receives remote write, keeps Delta tables in /var/lib/streamgauge; no Java, no root.
# Build it in the root of the source tree; every base can be pinned by digest:
#   docker build -f deploy/container/archive.Dockerfile -t streamgauge-archive \
#     --build-arg PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm@sha256:... .
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY deploy/release.toml deploy/release.toml
COPY release/version.py release/version.py
COPY alerts alerts
COPY archive archive
COPY dashboards dashboards
COPY docs/runbooks docs/runbooks
COPY exporter exporter
COPY spark_rollups spark_rollups
COPY streamgauge streamgauge
# The version of the tag, for example 1.2.3: the sources here have no repository.
ARG VERSION=""
RUN VERSION_FOR_STREAMGAUGE="${VERSION}" pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${PYTHON_IMAGE} AS installed
COPY deploy/container/archive.requirements.txt /wheels/requirements.txt
COPY --from=wheel /wheels /wheels
# Without pip: nothing can be installed into the image. Every package must have a known checksum.
RUN python -m venv --without-pip /opt/streamgauge \
    && pip --python /opt/streamgauge/bin/python install --no-cache-dir --require-hashes --requirement /wheels/requirements.txt \
    && pip --python /opt/streamgauge/bin/python install --no-cache-dir --no-deps /wheels/streamgauge-*.whl

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="streamgauge-archive" \
      org.opencontainers.image.description="Receives Prometheus remote write and keeps it in Delta tables" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN echo 'streamgauge:x:65532:65532::/tmp:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'streamgauge:x:65532:' >> /etc/group \
    && install -d -o 65532 -g 65532 /var/lib/streamgauge /var/lib/streamgauge-rollups
COPY --from=installed /opt/streamgauge /opt/streamgauge
# The root file system may be read-only: no bytecode is written at run time.
ENV PATH=/opt/streamgauge/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HEALTH_URL=http://127.0.0.1:7779/-/healthy \
    STREAMGAUGE_ARCHIVE_DATA=/var/lib/streamgauge \
    STREAMGAUGE_ARCHIVE_WEB_LISTEN_ADDRESS=0.0.0.0:7779
USER 65532:65532
VOLUME /var/lib/streamgauge
EXPOSE 7779
# 401 counts as healthy: the server requires authentication. With TLS or a route prefix, set HEALTH_URL.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=4 \
    CMD ["python", "-c", "import os, sys, urllib.error, urllib.request\ntry:\n    urllib.request.urlopen(os.environ['HEALTH_URL'], timeout=4)\nexcept urllib.error.HTTPError as response:\n    sys.exit(response.code != 401)"]
ENTRYPOINT ["streamgauge", "archive"]
