# The rollups and the report: Spark on one machine, or the driver of a cluster; the only one with Java.
# Build it in the root of the source tree; every base can be pinned by digest:
#   docker build -f deploy/container/rollups.Dockerfile -t streamgauge-rollups \
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
COPY deploy/container/rollups.requirements.txt /wheels/requirements.txt
COPY --from=wheel /wheels /wheels
# Without pip: nothing can be installed into the image. Every package must have a known checksum. The last line writes the files for
# spark-submit.
RUN python -m venv --without-pip /opt/streamgauge \
    && pip --python /opt/streamgauge/bin/python install --no-cache-dir --require-hashes --requirement /wheels/requirements.txt \
    && pip --python /opt/streamgauge/bin/python install --no-cache-dir --no-deps /wheels/streamgauge-*.whl \
    && /opt/streamgauge/bin/python -m spark_rollups.worker_zip /opt/streamgauge/spark

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="streamgauge-rollups" \
      org.opencontainers.image.description="Rolls the archive up, forecasts, and writes the monthly report" \
      org.opencontainers.image.licenses="Apache-2.0"
# Not pinned: Debian's mirrors keep only the newest security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
# Hadoop's login inside Spark needs a user name, not only a number.
RUN echo 'streamgauge:x:65532:65532::/tmp:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'streamgauge:x:65532:' >> /etc/group \
    && install -d -o 65532 -g 65532 /var/lib/streamgauge /var/lib/streamgauge-rollups
COPY --from=installed /opt/streamgauge /opt/streamgauge
# The root file system may be read-only: no bytecode is written at run time. Java's class cache is
# beside the results.
ENV PATH=/opt/streamgauge/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    SPARK_LOCAL_DIRS=/tmp \
    XDG_CACHE_HOME=/var/lib/streamgauge-rollups/.cache
USER 65532:65532
# Spark writes into its working directory.
WORKDIR /tmp
# A batch job: its exit code is its health.
HEALTHCHECK NONE
ENTRYPOINT ["streamgauge"]
CMD ["rollup", "--archive", "/var/lib/streamgauge", "--out", "/var/lib/streamgauge-rollups"]
