# A static image of indus, which runs as nobody and keeps its state in /home/indus.
#
#   docker build -t indus .
#   docker run -p 7332:7332 -v ./servers.json:/servers.json:ro -e INDUS_TOKEN=... indus
#
# It holds indus and nothing else: servers that are started with npx or python need an image with those
# in it (COPY --from=indus /indus /usr/local/bin/indus). Servers that are reached by a URL need nothing.
# It needs no init (docker run --init): indus reaps the processes that its servers leave to PID 1.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=true -ldflags='-s -w -buildid=' -o /out/indus ./cmd/indus && mkdir -p /out/home /out/tmp && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/indus /indus
COPY --from=build --chown=65532:65532 /out/home /home/indus
COPY --from=build /out/tmp /tmp
ENV HOME=/home/indus
WORKDIR /home/indus
USER 65532:65532
EXPOSE 7332
ENTRYPOINT ["/indus"]
CMD ["serve", "--addr", "0.0.0.0:7332", "--mcp", "/servers.json"]
