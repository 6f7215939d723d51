# syntax=docker/dockerfile:1
# The collector. Its only writable path is /data: run it with a read-only root file system.
FROM python:3.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY orbitrelay ./orbitrelay
COPY collector ./collector
RUN python -m venv --without-pip /opt/orbitrelay \
 && python -m pip --python /opt/orbitrelay/bin/python install '.[collector]' \
 && /opt/orbitrelay/bin/python -m compileall -q /opt/orbitrelay

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin orbitrelay \
 && install -d -o orbitrelay -g orbitrelay -m 0700 /data
COPY --from=build /opt/orbitrelay /opt/orbitrelay
ENV PATH=/opt/orbitrelay/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ORBITRELAY_DATA_DIR=/data \
    ORBITRELAY_RECEIVE_GRPC_ENDPOINT=0.0.0.0:4317 \
    ORBITRELAY_RECEIVE_HTTP_ENDPOINT=0.0.0.0:4318
USER 10001:10001
VOLUME /data
EXPOSE 4317 4318 4319 4320
# The admin listener (4319, 4320) carries content and stays on the container's own loopback until admin.http.endpoint says otherwise.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:4319/healthz', timeout=2).close()"]
ENTRYPOINT ["orbitrelay-collector"]
CMD ["serve"]
