# Targets of graphd. `make help` lists them.
GO      ?= go
# The race detector needs cgo; everything else is built without it.
TESTS   ?= ./...
# Where the time goes, for the compiler; PGO=off builds faster. Made by `make pgo`.
PGO     ?= deploy/release/graphd.pgo
# Starts the servers that tests run against, and stops them.
BED     := $(GO) run ./internal/testbed/up
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: web test-unraced pgo monitoring test-schemathesis release release-check vulncheck test-helm test-seeds test-differential test-differential-joins test-shards test-faults test-kill-full test-members-full test-drain test-rolling help build demo test test-all testbed test-short test-kill test-container lint bench fuzz clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: ## Build bin/graphd
	CGO_ENABLED=0 $(GO) build -trimpath -pgo=$(PGO) -o bin/graphd ./cmd/graphd

demo: ## Run the daemon with a built-in example and live data, in memory
	$(GO) run ./cmd/graphd demo

# VET= leaves it out where the linter has done it.
VET     ?= $(GO) vet ./...
test: ## Everything, beside a PostgreSQL and a Kafka of its own: vet, all tests under the race detector, all seeds, the kill tests
	$(VET)
	$(BED) -- $(MAKE) test-all

# Comparisons that the race detector makes ten times as slow, and sees nothing in: who runs at once in them does so in the
# others, too.
ALONE := TestM26JoinsEveryWayEqualsRun|TestM26RejoinsEveryWayEqualsRun|TestM4NarrowJoinsEveryWayEqualsRun|TestM26WhatComesApartIsNotLost|TestM26WhatIsLateIsSoAfterARestart|TestM9TheDefaultsNeverLose|TestShardsDrawEveryField|TestWideDrawsEveryField

# The kill tests are run once, and not with the others before: they need the processors for themselves.
test-all:
	$(GO) test -race -shuffle=on -count=1 -timeout 30m -vet=off -ldflags=-w -skip '^TestKill.|^($(ALONE))$$' $(TESTS)
	$(MAKE) --no-print-directory test-kill
	$(MAKE) --no-print-directory test-unraced

test-unraced: test-seeds
	$(MAKE) test-shards SHARD_DECLARATIONS=40 SHARD_TIME=30m

# The race detector makes a seed ten times as slow and sees nothing in one goroutine: a tenth of them runs under it. Of
# the comparisons with the oracles that tenth has to do in CI; `make test-differential` runs all.
test-seeds: ## All seeds of the simulation and of the random graphs, and what is compared alone, without the race detector
	$(GO) test -count=1 -timeout 30m -run 'TestSimulation$$|TestRandomGraphs' ./internal/live ./internal/graph
	$(GO) test -count=1 -short -timeout 30m -run '^($(ALONE))$$' ./internal/differential

# Before a release; CI runs 150 of them. SIM_SEED=17 runs one.
SEEDS ?= 20000
test-placement: ## Simulate SEEDS lives of members that share graphs and shards, and find the mistakes that are planted
	GRAPHD_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 300m -run TestM52Simulation -v ./internal/lease

testbed: ## Keep a PostgreSQL and a Kafka running for tests, and print the variables that name them
	@$(BED)

# Before a release, for an hour; `make test` runs a part of them. DIFF_SEED=17 runs one, DIFF_SHRINK=1m makes one
# that differs smaller.
test-differential: ## All comparisons, and 300 random declarations through run, test, and live at several paces and across kills, of the binary too
	$(GO) test -count=1 -timeout 30m -skip 'M48|M51|M52' ./internal/differential
	DIFF_ALL=1 $(GO) test -count=1 -timeout 30m -v -run 'Wide|NeverLose' ./internal/differential

test-differential-joins: ## 300 random joins through run, test, and live at several paces and across kills: an hour or so
	DIFF_ALL=1 $(GO) test -count=1 -timeout 120m -v -run 'M26JoinsEveryWay' ./internal/differential

# Without the race detector; `make test` runs a part of them under it too. Shards go from one member to the other in a
# quarter of them, from 100 on in all, which needs the PostgreSQL of `make testbed`. SHARD_CORES=all runs each live on every
# number of cores and not on one of them, DIFF_SEED=17 one, DIFF_WAY="killed;process" some of the ways, DIFF_SHRINK=1m
# makes one that differs smaller.
SHARD_DECLARATIONS ?= 500
SHARD_TIME         ?= 240m
test-shards: ## SHARD_DECLARATIONS random keyed declarations with 1, 2, 7 and 64 shards on 1, 2 and 8 cores: what each key answers is the same
	SHARD_DECLARATIONS=$(SHARD_DECLARATIONS) $(GO) test -count=1 -timeout $(SHARD_TIME) -v \
	  -run 'TestM51ShardsSayWhatOneSays|TestM48LiveShardsSayWhatOneSays|TestM52MovedShards|TestShardsDrawEveryField' ./internal/differential

test-short: ## The inner loop: under a minute once built
	$(GO) test -short $(TESTS)

# The daemons that are killed are built without the race detector, and the tests of them, too: what counts millions of
# events beside them is to leave them the processors.
KILLS ?= 50
test-faults: test-kill ## The same as test-kill

test-kill: ## Kill the real binary KILLS times under load and count what survived
	GRAPHD_KILLS=$(KILLS) $(GO) test -count=1 -shuffle=on -timeout 45m -parallel 6 -run '^TestKill.' -v ./internal/faults

# The full count of kills, once before a release: alone on its machine, for some 40 minutes. TestKillKafka and
# TestKillFollowedFile kill so often, the others a quarter of it.
test-kill-full: ## Kill the real binary 1,000 times beside servers of its own, and print what was counted
	@mkdir -p bin
	$(BED) -- env GRAPHD_KILLS=1000 GRAPHD_STOPS=20 $(GO) test -count=1 -timeout 120m \
	  -run '^(TestKill.*|TestStoppedOwnerIsReplaced|TestHalfOpenOwnerIsReplaced)$$' -v ./internal/faults 2>&1 \
	  | tee bin/test-kill-full.log | grep -E '^(---|ok|FAIL|panic)|kills|lost|doubled|void|^ +--- FAIL'; \
	  ! grep -qE '^(FAIL|panic)' bin/test-kill-full.log

# Alone on its machine, for about an hour; GRAPHD_MEMBER_SEED=17 deals other faults, GRAPHD_MEMBER_KINDS=drain those of one
# kind alone, each when all is well, GRAPHD_TEST_LOGS=DIR keeps what the daemons said.
MEMBER_FAULTS ?= 200
test-members-full: ## Deal MEMBER_FAULTS faults to daemons that share shards and a thousand graphs, and count what survived
	@mkdir -p bin
	$(BED) -- env GRAPHD_MEMBER_FAULTS=$(MEMBER_FAULTS) $(GO) test -count=1 -timeout 240m \
	  -run 'TestKillMembers|TestMembersManyGraphs' -v ./internal/faults 2>&1 \
	  | tee bin/test-members-full.log | grep -vE '(PASS|RUN) '; \
	  ! grep -qE '^(FAIL|panic)' bin/test-members-full.log

# Alone on its machine, for some four minutes.
DRAINS ?= 20
test-drain: ## Drain members under load DRAINS times, and measure when their shards fire elsewhere
	$(BED) -- env GRAPHD_DRAINS=$(DRAINS) $(GO) test -count=1 -timeout 30m -run TestDrainMembers -v ./internal/faults

# Beside a machine that does little else. It builds the older release from the history; GRAPHD_TEST_OLDER names one that
# is there, GRAPHD_TEST_BEFORE the one that a single daemon is upgraded from, GRAPHD_TEST_LOGS=DIR keeps what the
# daemons said. CI runs TestOlderStore, and the part of TestUpgradeUnderLoad that is on SQLite.
test-rolling: ## Replace daemons of older releases under load, one of one and one by one of three, back and forth, and count what survived
	$(BED) -- env GRAPHD_TEST_ROLLING=1 $(GO) test -count=1 -timeout 10m -v \
	  -run 'TestRollingVersions|TestOlderStore|TestUpgradeUnderLoad' ./internal/faults

test-container: ## Build the image and run docker-compose.yml for real
	deploy/test-container

# A module of its own: Helm and the types of Kubernetes are no part of graphd.
test-helm: ## Render the Helm chart with its examples, and hold it against the types of Kubernetes' API
	cd deploy/helm/test && $(GO) vet ./... && $(GO) test -count=1 ./...

# What it needs of Python it installs itself. CASES is about how many there are in all, SEED repeats a run.
CASES ?= 5000
test-schemathesis: ## CASES requests that schemathesis makes up from the OpenAPI document, for every role, to the real binary
	GRAPHD_CASES=$(CASES) GRAPHD_SEED=$(SEED) $(GO) test -count=1 -timeout 300m -v -run Schemathesis ./test/clients

release: ## Archives, SBOMs and sums of what is checked out, in bin/release
	$(GO) run ./deploy/release

monitoring: ## Rules for Prometheus and a dashboard for Grafana, anew from the descriptions of the metrics
	$(GO) run ./deploy/monitoring/generate

# It needs npm, which fetches the packages of web/vendor/packages.txt; building graphd does not.
web: ## Bundle anew what the page uses of others', in web/vendor
	$(GO) run ./web/make

# Nothing is shared but the modules: another folder, another build cache.
release-check: ## Build linux/amd64 twice in two folders, and compare the bytes
	deploy/release-check

vulncheck: ## Known vulnerabilities in what is called, where their database can be reached
	deploy/vulncheck

lint: ## golangci-lint with .golangci.yaml
	$(GO) run $(LINT) run

bench: ## Measure graphd beside its floors; QUICK=1 for a minute, SECTIONS='w1 w4' for some (see docs/performance.md)
	$(GO) run ./bench $(if $(QUICK),-quick) $(SECTIONS)

BASE ?= HEAD~1
bench-compare: ## Compare W1 to W3 with graphd as it was at BASE=revision
	$(GO) run ./bench -base $(BASE) $(if $(QUICK),-quick)

# Built without the profile that is there, so that the new one does not depend on it, and in PGO_WORK, for a profile names
# the files that ran. Before a release; some minutes. Joins are run less often than the rest, for they take longer.
PGO_WORK ?= /tmp/graphd-pgo
pgo: ## Record where the time goes in W1 to W4, for the compiler, in deploy/release/graphd.pgo
	$(GO) test -c -trimpath -o $(PGO_WORK)/bench.test ./bench
	CGO_ENABLED=0 $(GO) build -trimpath -o $(PGO_WORK)/graphd ./cmd/graphd
	GOGC=800 $(PGO_WORK)/bench.test -test.run '^$$' -test.bench 'Run/w[123]' -test.benchtime 12x \
	  -test.cpuprofile $(PGO_WORK)/run.pprof
	GOGC=800 $(PGO_WORK)/bench.test -test.run '^$$' -test.bench Run/w5 -test.benchtime 2x \
	  -test.cpuprofile $(PGO_WORK)/join.pprof
	$(GO) run ./bench -graphd $(PGO_WORK)/graphd -n 1 -seconds 10 -profiles $(PGO_WORK) w4 w4b
	$(GO) tool pprof -proto $(PGO_WORK)/run.pprof $(PGO_WORK)/join.pprof $(PGO_WORK)/live-2000.pprof $(PGO_WORK)/live-10000.pprof \
	  $(PGO_WORK)/live-40000.pprof > deploy/release/graphd.pgo

fuzz: ## Every fuzz target for 20 seconds
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do \
	  for n in $$(grep -oE '^func Fuzz[A-Za-z0-9]+' $$f | cut -c6-); do \
	    echo "$$(dirname $$f) $$n"; $(GO) test -run '^$$' -fuzz "^$$n$$" -fuzztime 20s $$(dirname $$f) || exit 1; done; done

clean: ## Remove what the targets made
	rm -rf bin bench/data
