# The rollups and the report: Spark on one machine, or the driver of a cluster; the only one with Java.
# Build it in the root of the source tree; every base can be pinned by digest:
#   docker build -f deploy/container/rollups.Dockerfile -t streamgauge-rollups \
#     --build-arg PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm@sha256:... .
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY alerts alerts
COPY archive archive
COPY dashboards dashboards
COPY exporter exporter
COPY spark_rollups spark_rollups
COPY streamgauge streamgauge
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${PYTHON_IMAGE} AS installed
COPY constraints.txt /wheels/
COPY --from=wheel /wheels /wheels
# Without pip of its own: nothing in the image can install anything into it. The last line writes what
# spark-submit sends to a cluster.
RUN python -m venv --without-pip /opt/streamgauge \
    && set -- /wheels/streamgauge-*.whl \
    && pip --python /opt/streamgauge/bin/python install --no-cache-dir --constraint /wheels/constraints.txt "$1[spark]" \
    && /opt/streamgauge/bin/python -m spark_rollups.worker_zip /opt/streamgauge/spark

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="streamgauge-rollups" \
      org.opencontainers.image.description="Rolls the archive up, forecasts, and writes the monthly report" \
      org.opencontainers.image.licenses="Apache-2.0"
# The version is Debian's own security update: a pinned one vanishes from its mirrors.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
# Hadoop's login inside Spark looks the user up by name: a number alone is not enough.
RUN echo 'streamgauge:x:65532:65532::/tmp:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'streamgauge:x:65532:' >> /etc/group \
    && install -d -o 65532 -g 65532 /var/lib/streamgauge /var/lib/streamgauge-rollups
COPY --from=installed /opt/streamgauge /opt/streamgauge
# The root file system may be read-only: no bytecode is written at run time. What makes Java start fast is kept
# beside the results.
ENV PATH=/opt/streamgauge/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    SPARK_LOCAL_DIRS=/tmp \
    XDG_CACHE_HOME=/var/lib/streamgauge-rollups/.cache
USER 65532:65532
# Spark looks for a place to write where it is started.
WORKDIR /tmp
# It runs to its end and says by its exit code how it went; there is nothing to ask meanwhile.
HEALTHCHECK NONE
ENTRYPOINT ["streamgauge"]
CMD ["rollup", "--archive", "/var/lib/streamgauge", "--out", "/var/lib/streamgauge-rollups"]
