# One image, three commands: precompact_api (default), precompact_scheduler, precompact_worker.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/opt/venv/bin:$PATH \
    PRECOMPACT_API_HOST=0.0.0.0 \
    PRECOMPACT_LOG_FORMAT=json

WORKDIR /opt/precompact
COPY . .
# The lock constrains; only what the service needs at run time is installed.
RUN python -m venv /opt/venv \
    && python -m pip install --no-cache-dir --constraint requirements.lock ".[bedrock]" \
    && useradd --create-home --uid 1000 precompact

USER precompact
WORKDIR /home/precompact
EXPOSE 8420
ENTRYPOINT ["python", "-m"]
CMD ["precompact_api"]
