#!/usr/bin/env bash
# Builds the wheel and the source distribution into a folder and tries them in environments of their own: the library and
# the command line without Qt, the window, pipx, and the tests from the unpacked source. Needs a package registry.
#
#     try_python.sh FOLDER [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1") python=${2:-python3} picture=$PWD/build/window-of-the-wheel.png
mkdir -p build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=$PWD/constraints.txt QT_QPA_PLATFORM=offscreen XDG_CONFIG_HOME=$work XDG_STATE_HOME=$work
unset PYTHONPATH

say() { printf '%3ds  %s\n' "$SECONDS" "$*"; }
new_environment() { "$python" -m venv "$work/$1" && "$work/$1/bin/python" -m pip install --quiet "${@:2}"; }

new_environment tools build twine pipx
"$work/tools/bin/python" -m build --outdir "$out" . > /dev/null  # the wheel is built from the unpacked source distribution
wheel=$(ls "$out"/memplan-*.whl) source=$(ls "$out"/memplan-*.tar.gz)
"$work/tools/bin/twine" check --strict "$wheel" "$source" > /dev/null
say "built $(basename "$wheel") ($(du -k "$wheel" | cut -f1) kB) and $(basename "$source") ($(du -k "$source" | cut -f1) kB)"

# From here on outside the checkout: what is tried is what was installed.
plan=$work/plan.memplan
cp resources/examples/llama-3.1-8b.memplan "$plan"
cd "$work"

new_environment core "$wheel"
"$work/core/bin/python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('PySide6') is not None)"
"$work/core/bin/memplan" --self-test > "$work/said"
grep -q "skipped the window" "$work/said"
"$work/core/bin/memplan" estimate "$plan" | grep -q "^Tight"
say "the command line without Qt"

new_environment window "${wheel}[gui]"
"$work/window/bin/memplan" --self-test > "$work/said"
"$work/window/bin/python" -m memplan_gui --screenshot "$picture" --size 1280x800 "$plan"
say "the window, pictured in $picture"

PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/pipx-bin PIPX_MAN_DIR=$work/pipx-man "$work/tools/bin/pipx" install --python "$python" "${wheel}[gui]" > /dev/null 2>&1
"$work/pipx-bin/memplan" --self-test > "$work/said"
say "pipx"

mkdir source && tar -xzf "$source" -C source --strip-components 1
"$work/core/bin/python" -m pip install --quiet "${wheel}[test]"
(cd source && "$work/core/bin/python" -m pytest -q -p no:cacheprovider tests/core/test_estimate.py tests/core/test_example_plan.py > "$work/said") || { cat "$work/said"; exit 1; }
say "tests from the source distribution: $(tail -1 "$work/said")"
