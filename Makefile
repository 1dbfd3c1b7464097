# Two commands matter: `make demo` and `make test`. Both need python3 (3.10 or later, with venv) and a C++20
# compiler; everything else is installed into .venv. The core is compiled once, in build/core, for both.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BUILD := build/core
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
CPP := $(shell find cpp bindings benchmarks examples fuzz -name '*.[ch]pp' -o -path 'cpp/include/*.h')
OUTPUT ?= out
# Sets of extras that `make environments` installs the wheel with, each in an environment of its own.
EXTRAS ?= none all

export CMAKE_BUILD_PARALLEL_LEVEL := $(CORES)
export MPLBACKEND := Agg
# Compiled modules are kept: the hundreds of programs that tests start begin in half the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: all demo test install develop docs links lint types unit pytest freeze bench sanitize tsan clang-test fuzz fuzz-build fuzz-configure fuzz-long tidy \
  package sdist-test wheel environments slurm plugins full format clean

all: test

# What the package needs to run, with plots. Without build isolation the compiled objects outlast pip,
# so that the tests link the same core.
install: $(VENV)/.installed
$(VENV)/.installed: pyproject.toml CMakeLists.txt $(CPP)
	@echo 'Building malleable in .venv and $(BUILD); the first time takes about two minutes on two cores.'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'scikit-build-core>=0.10' 'pybind11>=3.0' 'cmake>=3.26' 'ninja>=1.11'
	$(PIP) install --no-compile --no-build-isolation --config-settings=build-dir=$(BUILD) -e '.[plot]'
	@touch $@

# What the tests need beyond that. The package itself is installed already.
develop: $(VENV)/.developed
$(VENV)/.developed: $(VENV)/.installed
	$(PIP) install --no-build-isolation --config-settings=build-dir=$(BUILD) -e '.[dev]'
	@touch $@

# FLEX against FAIR and FIFO on generated jobs.
demo: install
	$(BIN)/malleable demo --output $(OUTPUT) --force

test: lint types unit pytest

# The documentation, into build/site. A warning is an error: a name, a page or a heading that a page links to and that is not
# there. `make links` also asks every address outside.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -j 2
docs: develop
	$(SPHINX) -b html docs build/site
	@echo 'Read build/site/index.html.'

links: develop
	$(SPHINX) -b linkcheck docs build/links

lint: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python -m tests.prose
	$(BIN)/python -m tests.complexity
	$(BIN)/python -m tests.stems

types: develop
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest malleable._core --allowlist tests/stubtest_allowlist.txt

unit: develop
	$(BIN)/cmake -S . -B $(BUILD) -DMALLEABLE_BUILD_TESTS=ON -DMALLEABLE_INSTALL=ON >/dev/null
	$(BIN)/cmake --build $(BUILD) --target unit_tests
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(CORES)

pytest: develop
	$(BIN)/python -m pytest -n $(CORES)

# What all policies decide on recorded instances, written anew: CONTRIBUTING.md says when. FROZEN: some files only.
freeze: develop
	$(BIN)/python -m tests.frozen.record $(FROZEN)

# Random tables through the core under AddressSanitizer and UBSan, in the library that `make fuzz` has as well: of clang
# where there is one, and of GCC with `FUZZ_COMPILER=`.
sanitize: fuzz-configure
	$(BIN)/cmake --build $(FUZZ) --target unit_tests
	$(BIN)/ctest --test-dir $(FUZZ) --output-on-failure -j $(CORES)

# The threads tests under ThreadSanitizer: of the core, and from Python with an extension built for it.
TSAN := build/tsan
tsan: develop
	$(BIN)/cmake -S . -B $(TSAN) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DMALLEABLE_BUILD_TESTS=ON -DMALLEABLE_BUILD_PYTHON=ON -DMALLEABLE_SANITIZE_THREADS=ON \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -Dpybind11_DIR=$$($(BIN)/python -m pybind11 --cmakedir) >/dev/null
	$(BIN)/cmake --build $(TSAN) --target test_use_guard _core
	TSAN_OPTIONS=halt_on_error=1 setarch -R $(TSAN)/test_use_guard
	$(BIN)/python -m tests.thread_sanitizer $(TSAN)

# Built by another compiler: the C++ tests, and from Python what decides and what is embedded.
CLANG := build/clang
CLANG_TESTS := tests/test_frozen.py tests/jobs tests/embed
clang-test: develop
	$(BIN)/cmake -S . -B $(CLANG) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DMALLEABLE_BUILD_TESTS=ON -DMALLEABLE_BUILD_PYTHON=ON -DCMAKE_CXX_COMPILER=clang++ \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -Dpybind11_DIR=$$($(BIN)/python -m pybind11 --cmakedir) >/dev/null
	$(BIN)/cmake --build $(CLANG) --target unit_tests _core
	$(BIN)/ctest --test-dir $(CLANG) --output-on-failure -j $(CORES)
	$(BIN)/python -m tests.other_build $(CLANG) $(CLANG_TESTS)

# Every fuzz target in turn for FUZZ_SECONDS in all, with libFuzzer where there is clang and with a
# mutator of our own where there is not (`FUZZ_COMPILER=`), the same inputs each time but for another
# FUZZ_SEED; fuzz/README.md has the rest.
FUZZ_SECONDS ?= 120
FUZZ_RUNS ?= 1000000
FUZZ_SIMULATION_RUNS ?= 50000
FUZZ_SEED ?= 1
FUZZ_LONG_SEED ?= 20
FUZZ_COMPILER ?= $(shell command -v clang++)
FUZZ := build/fuzz$(if $(FUZZ_COMPILER),,-plain)
fuzz: fuzz-build
	$(BIN)/python fuzz/run.py --build $(FUZZ) --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

# So many inputs for each kernel and reader, and for each simulation: some hours.
fuzz-long: fuzz-build
	$(BIN)/python fuzz/run.py --build $(FUZZ) --runs $(FUZZ_RUNS) \
	  --simulation-runs $(FUZZ_SIMULATION_RUNS) --seed $(FUZZ_LONG_SEED)

fuzz-build: fuzz-configure
	@$(PIP) install 'atheris>=2.3' || echo 'No atheris here: targets in Python use a mutator of our own.'
	$(BIN)/cmake --build $(FUZZ)

fuzz-configure: develop
	$(BIN)/cmake -S . -B $(FUZZ) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DMALLEABLE_BUILD_FUZZ=ON -DMALLEABLE_BUILD_TESTS=ON $(if $(FUZZ_COMPILER),-DCMAKE_CXX_COMPILER=$(FUZZ_COMPILER)) >/dev/null

# Each source by itself, in a folder where nothing is built: clang-tidy asks only how to compile it.
TIDY := build/tidy
tidy: develop
	$(BIN)/cmake -S . -B $(TIDY) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DMALLEABLE_TOGETHER=1 >/dev/null
	$(BIN)/clang-tidy -p $(TIDY) --quiet $(filter cpp/src/%.cpp,$(CPP))

# The source distribution, and the wheel that is made from it; an index would take both.
package: develop
	rm -rf dist
	$(BIN)/python -m build --outdir dist >/dev/null
	$(BIN)/python -m twine check --strict dist/*

# The sources as they are handed out, unpacked elsewhere: they build, and pass their own tests.
sdist-test: package
	rm -rf build/sdist
	mkdir -p build/sdist
	tar -xzf dist/*.tar.gz -C build/sdist --strip-components=1
	$(MAKE) -C build/sdist unit pytest

# Wheels for others, for every PYTHONS.
PYTHONS ?= $(PYTHON)
wheel:
	packaging/wheel.sh $(PYTHONS)

# The wheel alone and with extras, each set in a clean environment: every command gives its result or
# names the extra that is missing.
environments: package
	MALLEABLE_WHEEL=$$(echo dist/*.whl) MALLEABLE_SDIST=$$(echo dist/*.tar.gz) MALLEABLE_EXTRAS='$(EXTRAS)' \
	  $(BIN)/python -m pytest tests/installed

# Every fault on a real Slurm on loopback; needs root and Debian's packages, and says so where they are missing.
slurm: develop
	MALLEABLE_FULL=1 $(BIN)/python -m pytest tests/live/test_slurm.py

# What takes too long for every change. Benchmarks run once, untimed: they have to follow what they call.
full: lint types unit plugins sanitize tsan $(if $(shell command -v clang++),clang-test) sdist-test
	MALLEABLE_FULL=1 MALLEABLE_KILLS=200 MALLEABLE_COMMANDS=100000 MALLEABLE_TEMPLATES=500 MALLEABLE_BROWSER=1 \
	  $(BIN)/python -m pytest -n $(CORES)
	$(BIN)/python -m pytest benchmarks --benchmark-disable
	$(if $(FUZZ_COMPILER),$(MAKE) sanitize FUZZ_COMPILER=)
	$(MAKE) fuzz FUZZ_SECONDS=1200 FUZZ_SEED=2
	$(MAKE) environments EXTRAS='none plot tables custom lp dask hyperqueue completion report all'

# Adapters to programs of others: these are installed beside what `make develop` has, and leave that as it is.
PLUGIN := plugins/snakemake-scheduler-plugin-malleable
plugins: develop
	$(PYTHON) -m venv build/plugins
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > $$(build/plugins/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/develop.pth
	build/plugins/bin/python -m pip --quiet install --upgrade 'snakemake>=9.10' scikit-learn joblib ray pyspark ./$(PLUGIN)
	build/plugins/bin/python -m pytest -n $(CORES) tests/plugins
	build/plugins/bin/python -m pip --quiet install 'snakemake==9.10.*'  # the oldest that has plug-ins of this kind
	build/plugins/bin/python -m pytest -n $(CORES) tests/plugins/test_snakemake.py

bench: develop
	$(BIN)/cmake -S . -B $(BUILD) -DMALLEABLE_BUILD_TESTS=ON >/dev/null
	$(BIN)/cmake --build $(BUILD) --target bench_core bench_embed bench_scheduler
	$(BUILD)/bench_core
	$(BUILD)/bench_embed
	$(BUILD)/bench_scheduler
	$(BIN)/python -m pytest benchmarks --benchmark-only

format: develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf build dist $(OUTPUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
