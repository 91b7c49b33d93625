# SPDX-License-Identifier: Apache-2.0
# make             build/wick
# make deps        install what the build needs (Debian, as root)
# make run         install, build, profile this machine
# make check       unit tests, lint; installs nothing       (SAN=1 adds ASan and UBSan, SAN=thread TSan, CC=clang O=build/clang)
# make test        install what the tests need, run all of them once
# make test-fresh  in a bare Debian root: what README.md says, and nothing else, then the builds and quick steps of make test
# make test-all    the matrices, peers and long runs too
# make soak        30 minutes of everything at once: does anything grow? MINUTES=240 for longer
# make zoo         real programs, recorded and judged by who believes nothing of wick's; writes docs/zoo.md
# make test-runtimes  every version of every language's runtime; TEST=go one language's; tables in build/test-logs/runtimes-*.md
# make arm64       build/arm64/wick, cross-built             (check-arm64: its unit tests on an arm64 kernel)
# make lint        width, length of functions and files, layers, banned functions
# make docs        write the tables of options in docs/config.md and the manual page anew
# make format      clang-format on everything
# make mutants     FOLDER=src/base N=100: random changes of a folder that its own unit tests do not notice
# make coverage    which lines the unit tests run, by folder
# make bench-filters what rules about processes cost
# make analyse     gcc's static analyser over the product: clean, but for what is justified where it stands
# make fuzz        every *_fuzz.c for SECONDS=10
# make bench       print what we promise about speed and memory, and whether it holds (bench-collector: of the relay alone,
#                  bench-fleet: of a gateway for 1,000 agents, bench-store: of the store, bench-formats: of readers and writers of files,
#                  bench-many: of a sample where many CPUs are busy, bench-languages: of a sample of each language,
#                  bench-fleet-store: of a fleet's week in ClickHouse,
#                  bench-waits: what waits cost the programs that wait,
#                  bench-start: of the one file's start and its memory, bench-peers: profilers and relays beside others in one
#                  run, which writes docs/benchmarks.md)
# make dist        build/dist/wick: one file that needs no library
# make tarball     build/wick-VERSION-linux-ARCH.tar.gz: that file, its SBOM and licences, and install.sh
# make dist-arm64  build/arm64/dist/wick, cross-built (image-arm64: an image of it)
# make image       build/wick-VERSION-ARCH-oci.tar: an image of that file, for docker load, podman load, ctr image import
# make test-deploy what is shipped: the one file, here and in roots of others; the image and deploy/kubernetes; the packages
# make rpm         build/wick-VERSION-1.MACHINE.rpm, of that archive, checked by rpmlint
# make deb         build/wick_VERSION_ARCH.deb, checked by lintian
# make install     PREFIX=/usr/local DESTDIR=
MAKEFLAGS += -r --no-print-directory
COMMA   := ,
# SAN=1: ASan and UBSan; SAN=thread: TSan. Each has a folder of its own.
O       ?= build$(if $(SAN),/san$(SAN:1=))
SANITIZE := $(if $(SAN),-fsanitize=$(if $(filter thread,$(SAN)),thread,address$(COMMA)undefined))
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
STRIP   ?= llvm-strip
PREFIX  ?= /usr/local
SECONDS ?= 10
TRIPLE  ?= $(shell uname -m)-linux-gnu
ARCH    := $(patsubst x86_64%,x86,$(patsubst aarch64%,arm64,$(TRIPLE)))
VERSION := $(shell cat VERSION)
# All CPUs build, unless it was said how many.
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu17 -Wall -Wextra -Werror -Wno-unused-parameter -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS   += -fstack-protector-strong -fPIE $(if $(SAN),$(SANITIZE) -fno-omit-frame-pointer)
CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DWICK_VERSION='"$(VERSION)"' -MMD -MP -I. -Isrc -Ibpf -I$(O)
LDFLAGS  += -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(SANITIZE)
LDLIBS   += -lbpf -ldw -lelf -llzma -liberty -lz -lzstd -lsqlite3 -lyaml -lpcre2-8 -lnghttp2 -lssl -lcrypto -lpthread -lm
BPFFLAGS := -ffile-prefix-map=$(CURDIR)=. -g -O2 -std=gnu17 -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -I. -Isrc -Ibpf -MMD -MP \
	    -idirafter /usr/include/$(TRIPLE) -idirafter /usr/$(TRIPLE)/include

ALL   := $(sort $(shell find $(wildcard src lang kinds) -name '*.c' ! -name '*.bpf.c'))
BPF   := $(sort $(shell find $(wildcard bpf lang kinds) -name '*.bpf.c'))
HEAD  := $(sort $(shell find $(wildcard bpf src lang kinds test) -name '*.h'))
SIDE  := $(sort $(shell find $(wildcard test bench) -name '*.c'))
TOOLS := $(sort $(wildcard test/tools/*.c))
LANGUAGES := $(patsubst test/lang_%.py,%,$(wildcard test/lang_*.py))
TESTS := $(filter %_test.c,$(ALL)) test/main.c test/alloc.c
FUZZ  := $(filter %_fuzz.c,$(ALL))
SRCS  := $(filter-out %_test.c %_fuzz.c,$(ALL))
OBJS  := $(SRCS:%.c=$(O)/%.o)
SKELS := $(BPF:%.bpf.c=$(O)/%.skel.h)
WRAP  := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray

ifneq ($(V),1)
Q := @
say = @printf '  %-6s %s\n' $(1) $(@:$(O)/%=%);
endif

all: $(O)/wick

# All that steps of test/list take from $(O), built before any of them runs: two may run at a time.
test-build: $(O)/wick $(O)/unit $(TOOLS:%.c=$(O)/%) $(O)/bench/store/store

$(O)/wick: $(OBJS)
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(O)/unit: $(TESTS:%.c=$(O)/%.o) $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(WRAP) $^ $(LDLIBS) -lseccomp -o $@

# Small programs for tests: they print what a module thinks.
$(O)/test/tools/%: $(O)/test/tools/%.o $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# Asked once, so that who has no clang is told of all that is missing, and how to get it.
$(O)/have-tools:
	@tools/have.sh '$(CC)' '$(CLANG)' '$(BPFTOOL)' '$(STRIP)' $@

$(O)/%.o: %.c | $(SKELS)
	$(Q)mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(O)/test/%.o $(O)/%_test.o: CPPFLAGS += -Itest
$(O)/test/%.o $(O)/%_test.o: CFLAGS += -Wno-missing-prototypes

# The page: all its files are compressed and linked in; the list of them changes when one comes or goes.
UI := $(sort $(shell find ui -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg'))
$(O)/ui/%.gz: ui/%
	$(Q)mkdir -p $(@D)
	$(Q)gzip -9nc $< > $@
$(O)/ui/list.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' $(UI:ui/%=%) | awk '{ printf "X(%d, \"%s\")\n", NR, $$0 }' >$@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@
.PHONY: FORCE
FORCE:
$(O)/src/web/assets.o $(O)/analysed/src/web/assets: $(O)/ui/list.h $(UI:ui/%=$(O)/ui/%.gz)
$(O)/src/web/assets.o $(O)/analysed/src/web/assets: CPPFLAGS += -DUI_DIR='"$(abspath $(O))/ui"'

# Flame graphs in files bring their script along.
$(O)/src/wire/views/html_encode.o: src/wire/views/html.html
$(O)/src/wire/views/svg_encode.o: src/wire/views/svg.js

# The kernel half: one object and one skeleton for each *.bpf.c. DWARF is dropped, BTF stays.
$(O)/%.bpf.o: %.bpf.c | $(O)/have-tools
	$(Q)mkdir -p $(@D)
	$(call say,BPF)$(CLANG) $(BPFFLAGS) -c $< -o $@
	$(Q)$(STRIP) -g $@

$(O)/%.skel.h: $(O)/%.bpf.o
	$(call say,SKEL)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf > $@

# Of kinds and languages only the bytes are wanted: compressed, and unpacked when they are loaded (tracer/packed_object.h).
$(O)/kinds/%.skel.h: $(O)/kinds/%.bpf.o tools/pack.sh
	$(call say,PACK)tools/pack.sh $(notdir $*)_bpf__elf_bytes $< >$@
$(O)/lang/%.skel.h: $(O)/lang/%.bpf.o tools/pack.sh
	$(call say,PACK)tools/pack.sh $(notdir $*)_bpf__elf_bytes $< >$@

# Fuzz targets link everything but main(), built apart by clang.
FUZZFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
fuzz-build:
	$(Q)$(MAKE) O=$(O)/fuzz CC=$(CLANG) CFLAGS='$(FUZZFLAGS)' LDFLAGS='-fsanitize=fuzzer,address,undefined' fuzz-targets
fuzz-targets: $(FUZZ:%.c=$(O)/%)
$(O)/%_fuzz: $(O)/%_fuzz.o $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,FUZZ)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(O)/%_fuzz.o: CFLAGS += -Wno-missing-prototypes

mutants:
	$(Q)tools/mutants.py $(or $(FOLDER),src/base) $(or $(N),100) $(or $(SEED),1)

coverage:
	$(Q)$(MAKE) $(JOBS) O=$(O)/coverage CFLAGS='-O0 -g --coverage' LDFLAGS=--coverage $(O)/coverage/unit
	$(Q)tools/coverage.py $(O)/coverage

# Three things are beyond gcc 12's analyser, and others look for them: who owns what lies in a struct (LeakSanitizer, in
# `sanitized`), and that a result is written on success only (-Wmaybe-uninitialized, in
# each build), and how wide a value is that it knows to be small (UBSan looks at shifts).
ANALYSE := -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-file-leak -Wno-analyzer-use-of-uninitialized-value \
	   -Wno-analyzer-shift-count-overflow
analyse: $(SRCS:%.c=$(O)/analysed/%)
	@echo 'ok - $(words $(SRCS)) files analysed'
$(O)/analysed/%: %.c | $(SKELS)
	$(Q)mkdir -p $(@D)
	$(call say,CHECK)$(CC) $(CPPFLAGS) $(CFLAGS) $(ANALYSE) -c $< -o /dev/null -MF $@.d && touch $@

fuzz: fuzz-build
	$(Q)tools/fuzz.sh $(O)/fuzz $(SECONDS) $(FUZZ)

check: lint
	$(Q)$(MAKE) $(JOBS) $(O)/unit $(O)/wick $(TOOLS:%.c=$(O)/%.o)
	$(Q)$(MAKE) link-layers
	$(Q)$(O)/unit >$(O)/unit.log || { grep -v '^ok' $(O)/unit.log; exit 1; }
	$(Q)tail -n 1 $(O)/unit.log
	$(Q)$(O)/wick --version
	$(Q)$(MAKE) check-ui

# The page's modules, where there is a node with a runner for tests.
check-ui:
	$(Q)! node --test-reporter=tap -e 'require("node:test")' >/dev/null 2>&1 || node --test --test-reporter=tap test/ui/*.test.mjs >$(O)/ui.log || { grep -A 12 '^not ok' $(O)/ui.log; exit 1; }

arm64:
	$(Q)tools/deps.sh build kernels
	$(Q)tools/cross-arm64.sh

check-arm64:
	$(Q)test/vm/run.sh --unit arm64-6.1

lint:
	$(Q)LC_ALL=C awk -v MAX=120 -f tools/width.awk $(ALL) $(BPF) $(HEAD) $(SIDE)
	$(Q)awk -v MAX=60 -f tools/fnlen.awk $(SRCS) $(BPF)
	$(Q)awk -v MAX=80 -f tools/fnlen.awk $(filter-out $(SRCS),$(ALL))
	$(Q)wc -l $(ALL) $(BPF) $(HEAD) | awk '$$2 != "total" && $$1 > 800 { print $$2 ": " $$1 " lines, more than 800"; bad = 1 } END { exit bad }'
	$(Q)awk -f tools/layers.awk $(ALL) $(BPF) $(HEAD)
	$(Q)awk -f tools/structs.awk $(ALL) $(HEAD)
	$(Q)! grep -nf tools/banned.txt $(ALL) /dev/null

# The layers once more, by what objects link: a declaration needs no header.
link-layers: $(OBJS)
	$(Q)nm -A $^ | awk -f tools/layers.awk -

docs: $(O)/wick
	$(Q)tools/docs.sh $(O)/wick

format:
	$(Q)clang-format -i $(ALL) $(BPF) $(HEAD)

deps:
	$(Q)tools/deps.sh build

run: deps
	$(Q)$(MAKE) $(JOBS) all
	$(Q)tools/run.sh $(O)/wick

test:
	$(Q)tools/deps.sh build test kernels
	$(Q)test/run.sh $(TEST)

test-fresh:
	$(Q)tools/deps.sh fresh
	$(Q)tools/fresh.sh $(SUITE)

# What is shipped, built, installed and started where wick has never been.
test-deploy:
	$(Q)tools/deps.sh build test dist
	$(Q)mkdir -p $(O)
	$(Q)awk '$$1 == "base" || $$2 ~ /^(one-file|package|image|rights|roots|reproducible|helm|compose)$$/' test/list >$(O)/deploy.list
	$(Q)test/run.sh --all --list $(O)/deploy.list

test-all:
	$(Q)tools/deps.sh build test kernels all
	$(Q)test/run.sh --all $(TEST)

test-runtimes: all
	$(Q)tools/deps.sh test runtimes
	$(Q)echo 'all real-programs 3600 test/real_programs.py' >$(O)/runtimes.list
	$(Q)printf 'all %s 14400 test/languages.py %s --all\n' $(foreach l,$(LANGUAGES),$(l) $(l)) >>$(O)/runtimes.list
	$(Q)test/run.sh --all --list $(O)/runtimes.list $(TEST)

soak: all
	$(Q)$(MAKE) -C test/victims O=$(abspath $(O))/victims $(abspath $(O))/victims/storm
	$(Q)test/soak/soak.py --minutes $(or $(MINUTES),30)

zoo: all
	$(Q)tools/deps.sh test
	$(Q)test/zoo/zoo.py --write docs/zoo.md

test-kernels:
	$(Q)tools/deps.sh build kernels
	$(Q)test/vm/run.sh --all

bench: all micro bench-collector
	$(Q)tools/deps.sh bench
	$(Q)bench/bench.py

# Many busy CPUs beside the OTel profiler.
bench-many: all
	$(Q)tools/deps.sh bench
	$(Q)bench/many.py

# Each language's victim beside the OTel profiler.
bench-languages: all
	$(Q)tools/deps.sh bench
	$(Q)make -s -C test/victims O=$(abspath $(O))/victims
	$(Q)WICK_BUILD=$(abspath $(O)) bench/languages.py

# How soon the one file samples, and what that is made of.
bench-start: dist
	$(Q)WICK=$(abspath $(O))/dist/wick bench/start.py

# The collector beside the OpenTelemetry one.
bench-collector: all $(O)/bench/collector/send $(O)/bench/collector/sink
	$(Q)WICK_BUILD=$(abspath $(O)) bench/collector/collector.py
$(O)/bench/collector/%: $(O)/bench/collector/%.o $(O)/bench/collector/peer.o
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ -lnghttp2 -lz -lpthread -o $@
$(O)/bench/collector/%.o: CPPFLAGS += -Ibench/collector

# All profilers, then all relays, in one run: docs/benchmarks.md.
bench-peers: all $(O)/bench/collector/send $(O)/bench/collector/sink
	$(Q)tools/deps.sh bench
	$(Q)WICK=$(abspath $(O))/wick WICK_BUILD=$(abspath $(O)) bench/peers.py

# One gateway for a thousand agents, beside the OpenTelemetry Collector as one.
bench-fleet: all $(O)/bench/collector/send $(O)/bench/collector/sink
	$(Q)WICK_BUILD=$(abspath $(O)) bench/collector/fleet.py

# A fleet's week in ClickHouse, and how soon the page has a flame graph of it.
.PHONY: bench-fleet-store
bench-fleet-store: all
	$(Q)WICK=$(abspath $(O))/wick bench/clickhouse/fleet_store.py

# What it costs programs that waits are sampled.
bench-waits: all
	$(Q)WICK_BUILD=$(abspath $(O)) bench/waits.py

# What rules about processes cost.
.PHONY: bench-filters
bench-filters: all
	$(Q)WICK_BUILD=$(abspath $(O)) bench/filters.py

# The page beside other viewers.
bench-ui: all
	$(Q)WICK=$(abspath $(O))/wick node bench/ui/bench.mjs

# Hours of a big machine, simulated: what the store needs for them, and how fast it answers.
bench-store: $(O)/bench/store/store
	$(Q)$(O)/bench/store/store $(if $(QUICK),--hours 2 --steady,--hours 24)
$(O)/bench/store/store: $(O)/bench/store/store.o $(O)/bench/store/load.o $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(O)/bench/store/%.o: CPPFLAGS += -Ibench/store

# Readers and writers of files beside those of others.
bench-formats: all $(O)/bench/formats/codec
	$(Q)WICK_BUILD=$(abspath $(O)) bench/formats/formats.py
$(O)/bench/formats/codec: $(O)/bench/formats/codec.o $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# Speeds of single steps, by CPU time.
MICRO := $(sort $(wildcard bench/micro/*_micro.c))
$(O)/bench/micro/%: $(O)/bench/micro/%_micro.o $(O)/bench/micro/micro.o $(filter-out $(O)/src/cmd/main.o,$(OBJS))
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(O)/bench/micro/%.o: CPPFLAGS += -Ibench/micro
micro: $(MICRO:%_micro.c=$(O)/%)
	$(Q)$(O)/bench/micro/fold
	$(Q)$(O)/bench/micro/otlp
	$(Q)$(O)/bench/micro/otlp_check
	$(Q)$(O)/bench/micro/rows $(wildcard /lib/$(TRIPLE)/libc.so.6 /lib/$(TRIPLE)/libLLVM-14.so.1)

# One file that needs no library, for roots that have none. Two modules load libraries elsewhere; here they have them. The third
# keeps libc from loading any.
# Without debug information, which holds the folder it was built in: the build id would tell of it.
ONE_FILE := src/base/curl_library src/extensions/htpasswd src/base/name_service
LIBRARIES ?= $(O)/libraries
# Where the other archives come from: this machine, or what a cross build has of another.
ROOT_OF_LIBRARIES ?= /
$(LIBRARIES)/SOURCES: tools/static_libraries.sh
	$(call say,LIBS)CC='$(CC)' tools/static_libraries.sh $(@D)
$(O)/one-file/%.o: %.c $(LIBRARIES)/SOURCES | $(SKELS)
	$(Q)mkdir -p $(@D)
	$(call say,CC)$(CC) -DWICK_ONE_FILE -DCURL_STATICLIB -I$(LIBRARIES)/include $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(O)/dist/wick: $(filter-out $(ONE_FILE:%=$(O)/%.o),$(OBJS)) $(ONE_FILE:%=$(O)/one-file/%.o) tools/sbom.py
	$(Q)mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS) -static-pie -Wl,-z,relro,-z,now -Wl,-z,pack-relative-relocs -Wl,--gc-sections,--strip-debug,--trace $(filter %.o,$^) \
		-L$(LIBRARIES)/lib -lcurl $(LDLIBS) -lcrypt -o $@.whole >$@.linked 2>$@.log || { cat $@.log; exit 1; }
	$(Q)$(STRIP) -o $@ $@.whole
	$(Q)tools/sbom.py $@ $@.linked $(LIBRARIES) $(ROOT_OF_LIBRARIES) $@
dist:
	$(Q)tools/deps.sh build dist
	$(Q)$(MAKE) $(JOBS) $(O)/dist/wick
	$(Q)ls -l $(O)/dist/wick

# ... as an archive with a script that installs it.
tarball: dist all $(O)/completion/bash $(O)/completion/zsh $(O)/completion/fish
	$(Q)tools/tarball.sh $(O) $(IMAGE_ARCH)

# ... as a package for rpm, checked by rpmlint.
rpm: tarball
	$(Q)tools/deps.sh rpm
	$(Q)tools/rpm.sh $(O) $(IMAGE_ARCH)

# ... and for arm64, from here.
dist-arm64 image-arm64:
	$(Q)tools/deps.sh build dist kernels
	$(Q)tools/cross-arm64.sh $(@:%-arm64=%)

# An image for containers, of that one file.
IMAGE_ARCH := $(patsubst x86_64%,amd64,$(patsubst aarch64%,arm64,$(TRIPLE)))
image: dist
	$(Q)tools/image.py $(O)/dist/wick $(IMAGE_ARCH) $(O)/wick-$(VERSION)-$(IMAGE_ARCH)-oci.tar
docker-image: image
	docker load -i $(O)/wick-$(VERSION)-$(IMAGE_ARCH)-oci.tar
# The agent is all of it.
agent: dist

# Completion for shells, from what the binary says of its options.
$(O)/completion/%: $(O)/wick tools/completion.py tools/man.py
	$(Q)mkdir -p $(@D)
	$(Q)tools/completion.py $* $< >$@

# A Debian package, from the files that git knows; with the objects that are built already.
deb: all
	$(Q)tools/deps.sh dist
	$(Q)tools/deb.sh $(O)

install: all $(O)/completion/bash $(O)/completion/zsh $(O)/completion/fish
	install -D -m755 $(O)/wick $(DESTDIR)$(PREFIX)/bin/wick
	$(Q)install -D -m644 $(O)/completion/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wick
	$(Q)install -D -m644 $(O)/completion/zsh $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_wick
	$(Q)install -D -m644 $(O)/completion/fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/wick.fish
	$(Q)for m in docs/man/*.[1-8]; do [ -f "$$m" ] || continue; \
		install -D -m644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$${m##*/}; done

clean:
	rm -rf build

.PHONY: all soak test-build check check-ui link-layers mutants coverage analyse docs arm64 check-arm64 lint format fuzz fuzz-build fuzz-targets \
	deps run \
	test test-fresh test-all test-runtimes zoo test-kernels bench bench-many bench-languages bench-collector bench-fleet bench-peers bench-formats bench-ui bench-waits bench-store bench-start micro dist dist-arm64 tarball image image-arm64 docker-image agent deb rpm install clean test-deploy
.DELETE_ON_ERROR:
.SECONDARY:
-include $(wildcard $(patsubst %.c,$(O)/%.d,$(ALL) $(BPF) $(SIDE)))
