# trl-lint for a CI without Python:
#
#     docker build -t trl-lint .
#     docker run --rm --network none --volume "$PWD:/project:ro" trl-lint
#
# Nothing has to be compiled: every dependency has wheels for musl.
FROM python:3.13-alpine AS build
COPY . /source
RUN python -m venv --without-pip /opt/trl-lint \
    && python -m pip --python /opt/trl-lint/bin/python install --no-cache-dir --only-binary libcst,pyyaml,tree-sitter \
        /source \
    && find /opt/trl-lint -name __pycache__ -prune -exec rm -rf {} +

FROM python:3.13-alpine
# git is asked which files a report from elsewhere may come with, and what has changed since a commit.
RUN apk add --no-cache git \
    && adduser -D -H -u 10001 lint \
    && git config --system --add safe.directory '*' \
    && rm -rf /usr/local/lib/python3.13/site-packages/pip* /usr/local/lib/python3.13/ensurepip
COPY --from=build /opt/trl-lint /opt/trl-lint
ENV PATH="/opt/trl-lint/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 TRL_LINT_NO_CACHE=1
USER lint
WORKDIR /project
ENTRYPOINT ["trl-lint"]
