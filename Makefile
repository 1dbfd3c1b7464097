# Two commands matter: `make demo` and `make test`. Both need python3 (3.10 or later, with venv) and a C++20
# compiler; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/tests
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
CPP := $(shell git ls-files 'cpp/*.[ch]pp' 'bindings/*.[ch]pp' 'benchmarks/*.cpp' 2>/dev/null)
OUTPUT ?= out

export CMAKE_BUILD_PARALLEL_LEVEL := $(CORES)
export MPLBACKEND := Agg

.PHONY: all demo test install develop lint types unit pytest bench sanitize tidy package format clean

all: test

# What the package needs to run, with plots and tables.
install: $(VENV)/.installed
$(VENV)/.installed: pyproject.toml CMakeLists.txt $(CPP)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,tables]'
	@touch $@

develop: $(VENV)/.developed
$(VENV)/.developed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# FLEX against FAIR and FIFO on a generated workload; with TRACE=path on a real one as well.
demo: install
	$(BIN)/malleable demo --output $(OUTPUT) --force $(if $(TRACE),--trace '$(TRACE)')

test: lint types unit pytest

lint: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)

types: develop
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest malleable._core --allowlist tests/stubtest_allowlist.txt

unit: develop
	$(BIN)/cmake -S . -B $(BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DMALLEABLE_BUILD_TESTS=ON >/dev/null
	$(BIN)/cmake --build $(BUILD)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(CORES)

pytest: develop
	$(BIN)/python -m pytest

# Random tables through the core under AddressSanitizer and UBSan.
sanitize: develop
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DMALLEABLE_BUILD_TESTS=ON -DMALLEABLE_SANITIZE=ON >/dev/null
	$(BIN)/cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure -j $(CORES)

tidy: develop unit
	$(BIN)/clang-tidy -p $(BUILD) --quiet $(filter cpp/src/%.cpp,$(CPP))

# Builds the sdist, a wheel from it, and runs that wheel in an environment of its own.
package: develop
	rm -rf dist build/package
	$(BIN)/python -m build --outdir dist >/dev/null
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/package && bin/python -c "import malleable as mb; print(mb.plan(mb.Jobs([3, 5]), 2))"

bench: develop unit
	$(BUILD)/bench_core
	$(BIN)/python -m pytest benchmarks --benchmark-only

format: develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf build dist $(OUTPUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
