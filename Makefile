# tra: build, test, install. `make help` lists the targets.

B      ?= build
CC     := gcc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
# Where Debian's serial HDF5 looks for filter plugins by default; who installs elsewhere may not be allowed to write
# there.
SYSTEM_PLUGINS  := /usr/lib/$(shell $(CC) -print-multiarch)/hdf5/serial/plugins
HDF5_PLUGIN_DIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(SYSTEM_PLUGINS),$(PREFIX)/lib/hdf5/plugins)

# Variants: WERROR=1 warnings are errors; SAN=1 with sanitizers, SAN=thread with that of data races; COVERAGE=1 with
# counters for gcov; FUZZ=1 for libFuzzer (with CC=clang).
comma    := ,
SAN_1      := -fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_thread := -fsanitize=thread
COUNT    := --coverage -fno-early-inlining # what is inlined early has no counters of its own
VARIANT  := $(SAN_$(SAN)) $(if $(COVERAGE),$(COUNT)) \
            $(if $(FUZZ),-fsanitize=fuzzer-no-link$(comma)address$(comma)undefined -fno-sanitize-recover=undefined)
PACKAGES := hdf5-serial libzstd libxxhash openblas zlib libpcre2-8

# Which MPI: openmpi, mpich, or no (one site; libraries from their archives). Or MPICC=, the compiler of any.
MPI ?= openmpi
export MPI MPICC
MPI_NAME    := $(or $(notdir $(MPICC)),$(MPI))
MPI_PACKAGE := $(patsubst openmpi,ompi-c,$(MPI))
PLAIN     = $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(if $(WERROR),-Werror) -ffp-contract=off -pthread \
            $(CFLAGS) $(PKG_CFLAGS)
COMPILE   = $(PLAIN) $(VARIANT)
H5_LIBS   = $(PKG_LIBS:-lhdf5=-lhdf5_hl -lhdf5)
LIBS      = $(H5_LIBS) -lsleef -lm -lpthread

# What calls MPI itself, and is compiled for each.
MPI_SRC  := $(addprefix lib/run/,comm.c measure.c messages.c)
LIB_SRC  := $(filter-out $(MPI_SRC),$(sort $(wildcard lib/*/*.c formats/*.c plans/*/*.c)))
CMD_SRC  := $(sort $(wildcard cmd/*.c))
PLUG_SRC := $(sort $(wildcard lib/h5/plugin/*.c)) lib/h5/zfilter.c
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c))
BENCH_OWN := tests/bench/choice.c
PROP_SRC := $(sort $(wildcard tests/property/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))

objects   = $(patsubst %.c,$(B)/%.o,$(1))
WITH_MPI := $(B)/mpi-$(MPI_NAME)
MPI_OBJ  := $(patsubst %.c,$(WITH_MPI)/%.o,$(MPI_SRC))
LIB_OBJ  := $(call objects,$(LIB_SRC)) $(B)/made/storages.o $(B)/made/algorithms.o
CMD_OBJ  := $(call objects,$(CMD_SRC)) $(B)/made/batch.o
PLUG_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(PLUG_SRC))
ALL_OBJ  := $(LIB_OBJ) $(MPI_OBJ) $(CMD_OBJ) $(PLUG_OBJ) \
            $(call objects,$(TEST_SRC) $(BENCH_OWN) $(PROP_SRC) $(FUZZ_SRC) tests/fuzz/replay.c)
TESTS    := $(addprefix $(B)/tests/,$(basename $(notdir $(TEST_SRC))) property_driver)
REPLAYS  := $(addprefix $(B)/tests/,$(basename $(notdir $(FUZZ_SRC))))
FUZZERS  := $(addprefix $(B)/fuzz/,$(basename $(notdir $(FUZZ_SRC))))
PROGRAMS := $(B)/tra $(B)/libh5zzstd.so

# V=1 shows the commands.
Q   = $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)')

# Sub-makes use all cores unless the user chose a number.
SUBMAKE   = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# These compile nothing themselves, but call make again when the packages are there.
OUTER := help deps require check check-long check-property check-asan check-tsan check-valgrind check-mpich \
         check-cluster check-slurm check-deb check-faults check-mutants check-coverage fuzz demo bench uninstall \
         clean format
.PHONY: $(OUTER) all tests fuzz-now install deb FORCE
.DELETE_ON_ERROR:
.SECONDARY:

## all: build/tra and the HDF5 filter plugin (the default)
all: $(PROGRAMS)

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t s; do \
	    printf '  make %-16s%s\n' "$$t" "$$s"; done
	@echo '  Variables: B= (build folder), MPI=openmpi|mpich|no (or MPICC=), V=1 (show commands), CFLAGS=, WERROR=1,' \
	    'PREFIX=, DESTDIR=, HDF5_PLUGIN_DIR=, KERNEL_CC='

## deps: installs the Debian packages that building and testing need, when missing
deps:
	@bash share/deps.sh install

# What is missing is only said: a plain `make` installs nothing. Who gives PKG_LIBS= says himself where libraries are.
require:
	$(if $(filter command%,$(origin PKG_LIBS)),,@bash share/deps.sh build)

ifneq ($(filter-out $(OUTER),$(or $(MAKECMDGOALS),all)),)
# Without pkg-config: Debian's folders.
MULTIARCH  := $(shell $(CC) -print-multiarch)
PKG_CFLAGS := $(or $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null),$(addprefix -I,\
    $(wildcard /usr/include/hdf5/serial /usr/include/$(MULTIARCH)/openblas-pthread)))
PKG_LIBS   := $(or $(shell pkg-config --libs $(PACKAGES) 2>/dev/null),\
    $(addprefix -L,$(wildcard $(addprefix /usr/lib/$(MULTIARCH)/,hdf5/serial openblas-pthread))) \
    -lhdf5 -lzstd -lxxhash -lopenblas -lz -lpcre2-8)
ifneq ($(MPICC),)
MPI_FLAGS  := $(wordlist 2,1000,$(shell $(MPICC) -show))
else ifeq ($(MPI),no)
MPI_FLAGS  := -Ilib/run/alone
else
MPI_FLAGS  := $(shell pkg-config --cflags --libs $(MPI_PACKAGE) 2>/dev/null)
endif
MPI_CFLAGS := $(filter -I% -D%,$(MPI_FLAGS))
MPI_LIBS   := $(filter-out -I% -D%,$(MPI_FLAGS))
-include $(ALL_OBJ:.o=.d)
endif

# ---- building ----

# Rewritten when the command line of the compiler changes, so that everything is compiled again.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(filter-out -Werror,$(COMPILE)) $(LIBS)' | cmp -s - $@ || echo '$(filter-out -Werror,$(COMPILE)) $(LIBS)' >$@
$(WITH_MPI)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(MPI_FLAGS)' | cmp -s - $@ || echo '$(MPI_FLAGS)' >$@
# Rewritten when the program is to have another MPI than it has.
$(B)/mpi: FORCE
	@mkdir -p $(@D)
	@echo '$(MPI_NAME)' | cmp -s - $@ || echo '$(MPI_NAME)' >$@
FORCE:

$(WITH_MPI)/%.o: %.c $(B)/flags $(WITH_MPI)/flags | require
	@mkdir -p $(@D)
	$(call say,CC    $< ($(MPI_NAME)))
	$(Q)$(COMPILE) $(MPI_CFLAGS) -MMD -MP -c $< -o $@

$(B)/%.o: %.c $(B)/flags | require
	@mkdir -p $(@D)
	$(call say,CC    $<)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

$(B)/pic/%.o: %.c $(B)/flags | require
	@mkdir -p $(@D)
	$(call say,CC    $< (-fPIC))
	$(Q)$(PLAIN) -fPIC -MMD -MP -c $< -o $@

# Kernels are compiled by the compiler that was there (not by ccache), unless TRA_CC says otherwise when a program runs.
KERNEL_CC ?= $(firstword $(filter-out ccache %/ccache,$(CC)))
$(B)/lib/codegen/cache.o: private COMPILE += -DTRA_BUILT_WITH='"$(KERNEL_CC)"'

# Loops over the rows of tables and the bytes of CSV become vectors, however many there are; values stay IEEE.
LOOPS := $(call objects,$(sort $(wildcard lib/table/*.c lib/tablefile/*.c formats/table_csv*.c)))
$(LOOPS): private COMPILE += -fno-math-errno -fno-trapping-math \
                             $(if $(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic)

# The storages of the library, as text in the program.
STORAGES := $(sort $(wildcard share/storage/*.tra))
$(B)/made/storages.c: $(STORAGES) Makefile
	@mkdir -p $(@D)
	$(call say,MAKE  $@)
	$(Q){ echo '#include "lib/storage/library.h"'; echo 'const tra_library_file tra_library_files[] = {'; \
	    for f in $(STORAGES); do n=$${f##*/}; echo "{\"$${n%.tra}\","; \
	        sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; done; echo '{0, 0}};'; } >$@

# So the programs that are run by name.
ALGORITHMS := $(sort $(wildcard share/algorithms/*.tra))
$(B)/made/algorithms.c: $(ALGORITHMS) Makefile
	@mkdir -p $(@D)
	$(call say,MAKE  $@)
	$(Q){ echo '#include "plans/tra/load.h"'; echo 'const tra_algorithm tra_algorithms[] = {'; \
	    for f in $(ALGORITHMS); do n=$${f##*/}; echo "{\"$${n%.tra}\","; \
	        sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; done; echo '{0, 0}};'; } >$@

# And the scripts of jobs, which explain --job fills in.
BATCH := $(sort $(wildcard share/batch/*.sh))
$(B)/made/batch.c: $(BATCH) Makefile
	@mkdir -p $(@D)
	$(call say,MAKE  $@)
	$(Q){ echo '#include "cmd/request.h"'; echo 'const tra_job_template tra_job_templates[] = {'; \
	    for f in $(BATCH); do n=$${f##*/}; echo "{\"$${n%.sh}\","; \
	        sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; done; echo '{0, 0}};'; } >$@

$(B)/made/%.o: $(B)/made/%.c $(B)/flags
	$(call say,CC    $<)
	$(Q)$(COMPILE) -I. -c $< -o $@

# Made anew each time, so that objects of removed files do not stay in it.
$(B)/libtra.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR    $@)
	$(Q)ar rcs $@ $(LIB_OBJ)

# HDF5 from its archive, where that can be linked: the shared library needs libcurl and what that needs, some 25
# libraries, which take half of the time in which a command starts. (Sanitizers know its leaks by its name.)
# Without MPI all comes from archives that has one, and such a program runs where only the C library is. What has none
# in Debian is SLEEF.
H5_INSIDE  = $(patsubst -lhdf5%,-l:libhdf5%.a,$(LIBS)) -lsz -ldl -lm $(MPI_LIBS)
archive    = $(if $(or $(wildcard $(patsubst -L%,%/lib$(1).a,$(filter -L%,$(PKG_LIBS)))),$(filter /%,$(shell \
             $(CC) -print-file-name=lib$(1).a))),-l:lib$(1).a,-l$(1))
ALL_INSIDE = $(filter -L%,$(PKG_LIBS)) $(foreach l,$(patsubst -l%,%,$(filter -l%,$(H5_LIBS))) sz aec sleef gfortran \
             quadmath,$(call archive,$(l))) -static-libgcc -lm -lpthread -ldl
MOST       = $(if $(filter no,$(MPI_NAME)),$(ALL_INSIDE),$(H5_INSIDE))
$(WITH_MPI)/tra: $(CMD_OBJ) $(MPI_OBJ) $(B)/libtra.a
	$(call say,LINK  $@)
	$(Q)link() { $(COMPILE) -o $@ $(CMD_OBJ) $(MPI_OBJ) $(B)/libtra.a $(LDFLAGS) "$$@"; }; \
	    $(if $(strip $(VARIANT)),false,link $(MOST)) 2>/dev/null || link $(LIBS) $(MPI_LIBS)
	$(if $(filter no,$(MPI_NAME)),@ldd $@ | awk '!/ld-linux|linux-vdso|lib(c|m)\.so/ { n = n " " $$1 } \
	    END { if (n) print "  NOTE  no archive of these is here; where the program runs they are needed:" n }')
$(B)/tra: $(WITH_MPI)/tra $(B)/mpi
	$(Q)ln -f $< $@

# Depends on no HDF5 library, and has no sanitizers: HDF5 programs of any build can load it.
$(B)/libh5zzstd.so: $(PLUG_OBJ)
	$(call say,LINK  $@)
	$(Q)$(PLAIN) -shared -o $@ $(PLUG_OBJ) $(LDFLAGS) $(shell pkg-config --libs libzstd)

# Test programs need not be fast, and there are many of them.
TEST_OBJ := $(call objects,$(filter-out tests/property/%,$(TEST_SRC) $(FUZZ_SRC)))
$(TEST_OBJ): private COMPILE += $(if $(strip $(VARIANT)),,-O1 -g1)
TEST_LD   = $(if $(strip $(VARIANT)),,$(if $(shell command -v ld.gold),-fuse-ld=gold))

define test_program
$(B)/tests/$(basename $(notdir $(1))): $(call objects,$(1)) $(2) $(MPI_OBJ) $(B)/libtra.a
	@mkdir -p $$(@D)
	$$(call say,LINK  $$@)
	$$(Q)$$(COMPILE) -o $$@ $(call objects,$(1)) $(2) $(MPI_OBJ) $(B)/libtra.a $(TEST_LD) $$(LDFLAGS) $$(LIBS) $$(MPI_LIBS)
endef
$(foreach s,$(TEST_SRC) $(BENCH_OWN),$(eval $(call test_program,$(s))))

# The property tests are one program of several files.
$(B)/tests/property_driver: $(call objects,$(PROP_SRC)) $(MPI_OBJ) $(B)/libtra.a
	@mkdir -p $(@D)
	$(call say,LINK  $@)
	$(Q)$(COMPILE) -o $@ $(call objects,$(PROP_SRC)) $(MPI_OBJ) $(B)/libtra.a $(LDFLAGS) $(LIBS) $(MPI_LIBS)
$(foreach s,$(FUZZ_SRC),$(eval $(call test_program,$(s),$(call objects,tests/fuzz/replay.c))))

$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(MPI_OBJ) $(B)/libtra.a
	@mkdir -p $(@D)
	$(call say,LINK  $@)
	$(Q)$(COMPILE) -fsanitize=fuzzer -o $@ $< $(MPI_OBJ) $(B)/libtra.a $(LDFLAGS) $(LIBS) $(MPI_LIBS)

tests: $(PROGRAMS) $(TESTS) $(B)/tests/choice $(REPLAYS)

# ---- testing ----
# The packages come first, then a second make finds them. Those that only tests need are installed while it builds.

# Also the program with each other MPI, which 66-mpi.bats tests.
define build_tests
	@bash share/deps.sh install build
	@mkdir -p $(B); bash share/deps.sh install >$(B)/deps.log 2>&1 & deps=$$!; $(SUBMAKE) WERROR=1 tests; built=$$?; \
	    wait $$deps || { cat $(B)/deps.log; exit 1; }; exit $$built
	@for mpi in no mpich; do $(SUBMAKE) WERROR=1 MPI=$$mpi $(B)/mpi-$$mpi/tra || exit 1; done
endef

## check: builds with -Werror and runs all tests; the last line counts them
check:
	$(build_tests)
	@bash tests/run $(B)

## check-long: check, with the tests that take long
check-long:
	$(build_tests)
	@TRA_TEST_LONG=1 bash tests/run $(B)

## check-mpich: builds with MPICH and runs what takes several ranks
check-mpich: deps
	@$(SUBMAKE) B=build-mpich MPI=mpich WERROR=1 tests
	@MPI=mpich bash tests/run build-mpich property ranks

## check-property: PROPERTY_ROUNDS (10) times 1000 random programs by all their plans, PROPERTY_SEED (of the day) on
check-property: deps
	@$(SUBMAKE) WERROR=1 tests
	@seed=$(or $(PROPERTY_SEED),$$(date +%Y%m%d)); bad=0; for i in $$(seq $(or $(PROPERTY_ROUNDS),10)); do \
	    echo "== seed $$seed"; BUILD=$(CURDIR)/$(B) tests/property/run --seed $$seed --count 1000 --all || bad=1; \
	    TRA_TEST_SEED=$${seed}0000 TRA_TEST_COUNT=1000 $(B)/tests/test_storel_random || bad=1; \
	    seed=$$((seed + 1)); done; exit $$bad

ASAN_SET := abort_on_error=0:detect_stack_use_after_return=1:allocator_may_return_null=1
## check-coverage: which lines and branches the tests reach (gcov), and functions that none enters or only tests call
check-coverage: deps
	@$(SUBMAKE) B=build-coverage COVERAGE=1 tests
	@-SAN=coverage bash tests/run build-coverage # counters take memory of their own, as sanitizers do
	@tests/coverage build-coverage

## check-asan: the tests under AddressSanitizer and UndefinedBehaviorSanitizer
check-asan: deps
	@$(SUBMAKE) B=build-asan SAN=1 WERROR=1 tests
	@SAN=1 UBSAN_OPTIONS=print_stacktrace=1 \
	    ASAN_OPTIONS=$(ASAN_SET):suppressions=$(CURDIR)/tests/asan.supp \
	    LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 bash tests/run build-asan

## check-tsan: random programs under ThreadSanitizer, on one site and on three ranks
check-tsan: deps
	@$(SUBMAKE) B=build-tsan SAN=thread WERROR=1 tests
	@for n in 1 3; do SAN=thread TSAN_OPTIONS=exitcode=66:ignore_noninstrumented_modules=1 TRA_PROPERTY_RANKS=$$n \
	    BUILD=build-tsan tests/property/run || exit 1; done

## check-valgrind: the unit tests under valgrind
check-valgrind: deps
	@command -v valgrind >/dev/null || { echo 'valgrind is missing: apt-get install valgrind'; exit 1; }
	@$(SUBMAKE) WERROR=1 tests
	@OPENBLAS_CORETYPE=Haswell TRA_TEST_WRAP='valgrind -q --error-exitcode=99' bash tests/run $(B) unit

## check-slurm: jobs under a real Slurm on this machine, which it installs, starts and ends (needs root)
check-slurm:
	$(build_tests)
	@tests/slurm/run $(B)

## check-deb: the package installed, tried and removed in a clean Debian (debootstrap; needs root)
check-deb: deps
	@$(SUBMAKE) WERROR=1 all
	@tests/packages/run $(B)

## check-faults: fails every call that can fail, kills runs at random moments, fills a disk
check-faults: deps
	@$(SUBMAKE) WERROR=1 all
	@tests/faults/run $(B)

## check-mutants: puts known mistakes in, one at a time (MUTANTS=, default all), and says how many the tests notice
check-mutants: deps
	@$(SUBMAKE) WERROR=1 tests
	@tests/mutants/run $(B) $(MUTANTS)

## check-cluster: predicted against measured on four hosts (network namespaces; needs root and a quiet machine)
check-cluster: deps
	@$(SUBMAKE) WERROR=1 tests
	@TRA=$(CURDIR)/$(B)/tra tests/cluster/run

## fuzz: runs each fuzzer for FUZZ_SECONDS (60) with clang's libFuzzer
fuzz: deps
	@command -v clang >/dev/null || { echo 'clang is missing: apt-get install clang'; exit 1; }
	@$(SUBMAKE) B=build-fuzz CC=clang FUZZ=1 fuzz-now
fuzz-now: $(FUZZERS)
	@set -e; for f in $(FUZZERS); do n=$${f##*/fuzz_}; mkdir -p $(B)/corpus/$$n tests/fuzz/corpus/$$n; \
	    echo "== $$n"; $$f -max_total_time=$(or $(FUZZ_SECONDS),60) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	        -artifact_prefix=$(B)/ $(B)/corpus/$$n tests/fuzz/corpus/$$n; done

## demo: a real data set from import to export
demo: deps
	@$(SUBMAKE) all
	@TRA=$(CURDIR)/$(B)/tra share/examples/digits/demo.sh

## bench: the measurements (CASES=, default all but those that take long)
bench: deps
	@$(SUBMAKE) tests
	@TRA=$(CURDIR)/$(B)/tra tests/bench/run $(CASES)

# ---- installing ----

MAN1 := $(wildcard man/*.1)
MAN5 := $(wildcard man/*.5)
MAN7 := $(wildcard man/*.7)
DATA := $(wildcard share/examples share/profiles share/batch share/algorithms share/storage)

ZSH    := $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)/_tra
FISH   := $(PREFIX)/share/fish/vendor_completions.d/tra.fish
MODULE := $(PREFIX)/share/tra/modulefile

## install: program, manual pages, completion, examples and the HDF5 filter, under PREFIX (DESTDIR for packagers)
install: all
	install -D -m 755 $(B)/tra $(DESTDIR)$(PREFIX)/bin/tra
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
	    $(DESTDIR)$(PREFIX)/share/man/man7 $(DESTDIR)$(PREFIX)/share/tra
	$(if $(MAN1),install -m 644 $(MAN1) $(DESTDIR)$(PREFIX)/share/man/man1)
	$(if $(MAN5),install -m 644 $(MAN5) $(DESTDIR)$(PREFIX)/share/man/man5)
	$(if $(MAN7),install -m 644 $(MAN7) $(DESTDIR)$(PREFIX)/share/man/man7)
	install -D -m 644 share/completion/tra.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tra
	install -d $(dir $(DESTDIR)$(ZSH) $(DESTDIR)$(FISH) $(DESTDIR)$(MODULE))
	$(B)/tra help zsh >$(DESTDIR)$(ZSH)
	$(B)/tra help fish >$(DESTDIR)$(FISH)
	sed 's|@PREFIX@|$(PREFIX)|; s|@PLUGINS@|$(HDF5_PLUGIN_DIR)|' share/packaging/modulefile >$(DESTDIR)$(MODULE)
	$(if $(DATA),cp -R $(DATA) $(DESTDIR)$(PREFIX)/share/tra/)
	install -D -m 755 $(B)/libh5zzstd.so $(DESTDIR)$(HDF5_PLUGIN_DIR)/libh5zzstd.so
	$(if $(filter $(SYSTEM_PLUGINS),$(HDF5_PLUGIN_DIR)),,@echo 'Other HDF5 programs read zstd relations after: \
	    export HDF5_PLUGIN_PATH=$(HDF5_PLUGIN_DIR)')

## deb: build/tra_VERSION_ARCH.deb, a package for Debian and Ubuntu
deb: all
	@bash share/packaging/deb $(B)

## uninstall: removes what install put there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tra $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tra
	rm -f $(DESTDIR)$(ZSH) $(DESTDIR)$(FISH)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN1)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man5/,$(notdir $(MAN5)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man7/,$(notdir $(MAN7)))
	rm -rf $(DESTDIR)$(PREFIX)/share/tra
	rm -f $(DESTDIR)$(HDF5_PLUGIN_DIR)/libh5zzstd.so

## clean: removes everything that was built
clean:
	rm -rf $(B) build-asan build-tsan build-fuzz build-coverage build-mpich

## format: rewrites the sources by .clang-format
format:
	clang-format -i $(shell find cmd formats lib plans tests -name '*.[ch]')
