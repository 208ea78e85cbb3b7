# The service alone: no compiler, no pip, no training library. Health and metrics answer on the
# pod's address; the doors for spans listen on loopback until a variable says otherwise:
# OTEL_RAGLOG_RECEIVE__GRPC__HOST and OTEL_RAGLOG_RECEIVE__HTTP__HOST.
# All that is written lies in /var/lib/raglog: the root file system may be read-only.

FROM python:3.12-slim AS build
WORKDIR /build
RUN python -m venv /build/tools && python -m venv --without-pip /opt/raglog
COPY requirements/build.txt requirements/service.txt requirements/
RUN /build/tools/bin/python -m pip install --quiet --no-cache-dir --require-hashes -r requirements/build.txt \
    && python -m pip --python /opt/raglog/bin/python install --quiet --no-cache-dir --only-binary :all: \
        --require-hashes -r requirements/service.txt
COPY pyproject.toml README.md LICENSE ./
COPY otel_raglog otel_raglog
COPY exporters exporters
COPY proxy_bridge proxy_bridge
RUN /build/tools/bin/python -m pip wheel --quiet --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels . \
    && python -m pip --python /opt/raglog/bin/python install --quiet --no-cache-dir --no-deps wheels/*.whl

FROM python:3.12-slim
RUN groupadd --gid 10001 raglog \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/raglog --shell /usr/sbin/nologin raglog \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/raglog
COPY --from=build /opt/raglog /opt/raglog
ENV PATH=/opt/raglog/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OTEL_RAGLOG_JOURNAL__PATH=/var/lib/raglog/journal \
    OTEL_RAGLOG_HEALTH__HOST=0.0.0.0 \
    OTEL_RAGLOG_METRICS__HOST=0.0.0.0
USER 10001:10001
WORKDIR /var/lib/raglog
VOLUME /var/lib/raglog
EXPOSE 4317 4318 9464 13133
STOPSIGNAL SIGTERM
# /live, not /ready: who is full refuses for a while, and must not be killed for it.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ.get('OTEL_RAGLOG_HEALTH__PORT', '13133') + '/live', timeout=4)"]
ENTRYPOINT ["otel-raglog"]
CMD ["serve"]
