# make test    the peers are installed, all tests pass, the race detector where goroutines are, if there is a C compiler.
#              It needs nothing but Go and npm; vet is check's
# make lint    format, vet, staticcheck
# make check   lint, other platforms, the race detector everywhere, 1 s for each fuzz target
# make check-all  test and check, and what has a module or a program of its own: providers, deployment, registry, chaos.
#              A release needs it. .ci/run runs these parts only after a change below them (scripts/changed)
# make deployment  the files of deploy/, with HAProxy (apt-get install haproxy)
# make registry    the official registry's own server, with PostgreSQL (apt-get install postgresql)
# make providers   the providers' SDKs. make chaos: the shared state during faults
# make conformance  the official suite alone: against our client side, and against the gateway before servers of both eras
#              on stdio and HTTP; UPDATE=-update writes the tables of docs/conformance.md and docs/clients.md
# make bench   benchmarks, ready for benchstat
# make compare indus beside the direct call and two anchors, into docs/benchmarks.md (some minutes; on an idle machine)
# make fuzz    FUZZTIME (60s) for each fuzz target
# make soak    what takes minutes: clients and servers of all kinds at one gateway (INDUS_SOAK=TIME; 10 minutes), a load,
#              long fuzzing
# make release  packages for all channels, in out/release (docs/install.md); release-check builds them twice, compares
#               them, installs each in an empty root and serves a server with it

GO       ?= go
FUZZTIME ?= 60s
COUNT    ?= 6
GORELEASER := v2.15.4
PEERS    := testdata/peers/node_modules/.package-lock.json

# The race detector needs a C compiler. What make test has run, make check finds in Go's cache.
RACE := $(if $(shell command -v $$($(GO) env CC)),-race)

# The providers' official SDKs, which only their tests compile, take as long as all the rest; without inlining little more than half.
SDKS := -gcflags=github.com/anthropics/...=-l -gcflags=github.com/openai/...=-l

# A program with the race detector sleeps for a second before it exits, and so does each package's test.
export GORACE := atexit_sleep_ms=0

.PHONY: all build test providers deployment chaos registry check check-all lint fuzz-second format vet staticcheck race platforms conformance fuzz bench compare soak release release-check peers clean

all: build

build:
	$(GO) build -o bin/indus ./cmd/indus

peers: $(PEERS)

$(PEERS): testdata/peers/package.json testdata/peers/package-lock.json
	npm ci --prefix testdata/peers --no-audit --no-fund

# These packages are tested without the detector, which makes them several times as slow. cmd/indus and the official suite start
# processes: what runs there is tested with the detector by its own packages, and what the scripts of serve, session and page
# start has it (INDUS_RACE). The others start no goroutine of their own. gateway counts what a call allocates, which it cannot
# while the detector is on. make race has the detector everywhere. The packages that take longest stand first.
UNRACED := ./cmd/indus ./internal/testkit/conformance ./internal/testkit/fidelity . ./schema/... ./control/policy/... ./mcpconfig/... \
	./agent/standard/... ./cmd/indus/internal/page/... ./internal/jsontree/... ./internal/keyword ./internal/rank \
	./internal/registry ./internal/signature/... ./cmd/indus/internal/arguments ./cmd/indus/internal/tools \
	./interop/internal/advice ./gateway/internal/methods
RACED := ./gateway ./interop ./replica/cluster/nats

test: peers
	INDUS_RACE=$(RACE) $(GO) test -vet=off -timeout 20m $(UNRACED)
	$(GO) test $(RACE) -vet=off -timeout 20m $(RACED) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(UNRACED) $(RACED))")
	$(GO) test -vet=off -run ControlAllocates ./gateway
	cd tools/packages && $(GO) vet . && $(GO) test -vet=off .

providers:
	cd internal/testkit/providers && $(GO) vet $(RACE) $(SDKS) ./... && $(GO) test $(RACE) $(SDKS) -vet=off ./...

# Helm's renderer links the client of Kubernetes: unoptimized it compiles in three quarters of the time.
deployment:
	@command -v haproxy >/dev/null || { echo "HAProxy is missing: run apt-get install haproxy"; exit 1; }
	cd internal/testkit/deployment && $(GO) test -gcflags=k8s.io/...='-l -N' \
		-gcflags=google.golang.org/...='-l -N' -gcflags=sigs.k8s.io/...='-l -N' ./...
	INDUS_SOAK=1 $(GO) test -vet=off ./internal/testkit/conformance -run OverReplicas -haproxy
	$(GO) test -vet=off -run "TheComposeFileServes|BehindABalancer" ./cmd/indus/. -haproxy

# Its schedule of faults is short. A long one: go test -run Chaos . -args -for 10m -seed 7. .ci/run leaves the servers of
# NATS out, whose elections take unknown time on a busy machine.
chaos:
	cd internal/testkit/chaos && $(GO) vet $(RACE) . && $(GO) test $(RACE) -vet=off $(CHAOS) .

# The official registry's server takes 25 s of CPU to compile, once.
registry:
	cd internal/testkit/mcpregistry && $(GO) vet ./... && $(GO) test -vet=off ./...

lint: format vet staticcheck

check: lint platforms race fuzz-second

check-all: test check providers deployment registry chaos

format:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt -w these files:"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet $(RACE) ./...

staticcheck:
	cd tools && $(GO) build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	GOFLAGS="$$($(GO) env GOFLAGS) $(RACE)" bin/staticcheck ./...

# Windows must compile; macOS must, and cannot be run here. This is a type check from source of all packages, their tests and
# what they import, and no build: that would compile everything once more for each system. make release builds and links.
platforms:
	cd tools && $(GO) run ./platforms .. windows darwin

race: peers
	$(GO) test -race -vet=off ./...

conformance: peers
	$(GO) test -count=1 -vet=off -v ./internal/testkit/conformance -args -reference $(UPDATE)
	$(GO) test -count=1 -vet=off -run 'TestClients(SignIn|WaitForApproval)?$$' ./cmd/indus $(if $(UPDATE),-args $(UPDATE))

# A second finds what is near. PACKAGE=./schema leaves the other packages out.
fuzz-second:
	PACKAGE=$(PACKAGE) scripts/fuzz 1s -gcflags=github.com/indusagi/indus/...=-d=libfuzzer

fuzz:
	scripts/fuzz $(FUZZTIME)

bench:
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) ./...

compare:
	$(GO) run ./internal/testkit/bench/compare

# The tests that fixture.Size makes small in make test.
SIZED = $(shell git grep -hE '^func Test|fixture[.]Size' -- '*_test.go' | \
	awk -F '[^A-Za-z0-9_]' '/^func/ { name = $$2 } /fixture[.]Size/ { print name }' | sort -u | paste -sd '|')

soak: peers
	INDUS_SOAK=$${INDUS_SOAK:-1} $(GO) test $(RACE) -vet=off -timeout 60m -run 'Soak|^($(SIZED))$$' -v ./...
	$(MAKE) fuzz FUZZTIME=10m

# The version is the tag's that stands here. A snapshot is what goreleaser calls a release that it does not publish: only the
# workflow of a release sets PUBLISH. go run takes the pinned version with the requirements of goreleaser, which are in no go.mod here.
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release: export COMMIT_DATE = $(shell git log -1 --format=%cI)
release: export INDUS_VERSION = $(shell (git describe --tags --dirty 2>/dev/null || echo v0.0.0-g$$(git rev-parse --short=12 HEAD)) | sed s/^v//)
release:
	$(GO) run github.com/goreleaser/goreleaser/v2@$(GORELEASER) release --clean $(if $(PUBLISH),,--snapshot)
	cd tools/packages && $(GO) run . ../../out/release

release-check:
	scripts/release-check

clean:
	rm -rf bin out
