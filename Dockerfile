# Draftboard in a container, for NVIDIA GPUs (the default) or CPUs.
#   docker build -t draftboard .
#   docker build -t draftboard:cpu --build-arg DEVICE=cpu --build-arg TORCH_INDEX=<PyTorch's CPU wheel index> .
# The wheels of PyTorch bring CUDA along, so the base needs none; the host needs NVIDIA's driver and container toolkit.

ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS dependencies
# DEVICE: cuda or cpu. TORCH_INDEX: an index to prefer for PyTorch alone; see pytorch.org, "Get started".
ARG DEVICE=cuda
ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY pyproject.toml constraints.txt ./
# Dependencies before source: a change of ours rebuilds none of the gigabytes.
RUN case "$DEVICE" in cuda | cpu) ;; *) echo "DEVICE is cuda or cpu, not $DEVICE." >&2; exit 1 ;; esac \
 && if [ "$DEVICE" = cpu ] && [ -z "$TORCH_INDEX" ]; then \
      echo "No TORCH_INDEX: PyTorch comes with CUDA, which a CPU does not need: the image works, some GB too large." >&2; fi \
 && python3 -m venv /opt/venv \
 && python3 -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
      > requirements.txt \
 && /opt/venv/bin/python -m pip install --no-compile --constraint constraints.txt --requirement requirements.txt \
      ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"}

FROM ${BASE}
ARG DEVICE=cuda
RUN groupadd --gid 10001 draftboard \
 && useradd --uid 10001 --gid draftboard --create-home --shell /usr/sbin/nologin draftboard \
 && install -d -o draftboard -g draftboard /data /data/models
COPY --from=dependencies /opt/venv /opt/venv
WORKDIR /app
COPY app.py pyproject.toml LICENSE NOTICE ./
COPY presets presets
COPY storage storage
COPY playground playground

# A container must listen beyond its own loopback, so it refuses to start without DRAFTBOARD_AUTH_USER and _PASSWORD.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    GRADIO_ANALYTICS_ENABLED=False \
    HF_HOME=/data/hub \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    DRAFTBOARD_HOST=0.0.0.0 \
    DRAFTBOARD_PORT=7860 \
    DRAFTBOARD_DATA=/data
LABEL org.opencontainers.image.title="Draftboard" \
      org.opencontainers.image.licenses="Apache-2.0" \
      draftboard.device="${DEVICE}"

# Numeric, so that an orchestrator can see that it is not root.
USER 10001:10001
# Everything written: the database /data/runs.db, presets, and the models, which may lie on a volume of their own.
VOLUME ["/data", "/data/models"]
EXPOSE 7860
# The first start downloads and converts the default model.
HEALTHCHECK --interval=15s --timeout=5s --start-period=5m --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ['DRAFTBOARD_PORT']}/healthz\", timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["sh", "-c", "python -m playground models prepare && exec python -m playground serve"]
