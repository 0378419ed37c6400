# graphd in one image: a static binary on a base without a shell, as a user without rights.
# Build it with `docker build -t graphd .`; see docs/operations.md for how to run it.
#
# The images that it is made from are variables: pin what you deploy by digest, which is printed by
#   docker buildx imagetools inspect --format '{{.Manifest.Digest}}' golang:1.26-bookworm
# and raise it with every release of Go and of the base:
#   docker build --build-arg GO_IMAGE=golang:1.26-bookworm@sha256:… --build-arg BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot@sha256:… .
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=""
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -pgo=deploy/release/graphd.pgo -ldflags "-s -w -X main.release=${VERSION}" -o /out/graphd ./cmd/graphd \
    && mkdir -p /out/data /out/graphs

FROM ${BASE_IMAGE}
COPY --from=build /out/graphd /usr/local/bin/graphd
# The two places a container writes to or reads from: the embedded store, and declarations.
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/graphs /graphs
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8080
# The memory limit of the container is the memory limit of the daemon (see GET /v1/limits).
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["/usr/local/bin/graphd", "health", "--server", "http://127.0.0.1:8080"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/graphd"]
# Until there is a token (docs/tokens.md) who reaches the port can steer the daemon: publish it on loopback only.
# Where other containers call it by its name, list that: GRAPHD_HOSTS=graphd.
CMD ["serve", "--graphs", "/graphs", "--data", "/data", "--listen", "0.0.0.0:8080", "--insecure"]
