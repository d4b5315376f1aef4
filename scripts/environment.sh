# Sourced by scripts/test and scripts/demo: find what is needed, say all that is missing, make an environment.

ROOT=$(cd "$(dirname "$0")/.." && pwd)
OLDEST_GIT=2.31
# Another environment that happens to be active is not the one that is used here. Tests start hundreds of processes:
# none should compile all modules again because bytecode is not to be kept.
unset VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

# The first Python that is new enough, or nothing. PYTHON names one explicitly.
find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
}

# Stops with a list of everything that is missing; otherwise leaves the interpreter in FOUND_PYTHON.
need_tools() {
    missing=""
    FOUND_PYTHON=$(find_python)
    if [ -z "$FOUND_PYTHON" ]; then
        found=$(python3 --version 2>/dev/null || echo "no Python at all")
        missing="$missing
  Python 3.11 or newer (found: $found); name another one with PYTHON=/path/to/python"
    elif ! "$FOUND_PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
        missing="$missing
  the venv module of $FOUND_PYTHON; on Debian and Ubuntu: apt-get install python3-venv"
    fi
    if ! command -v git >/dev/null 2>&1; then
        missing="$missing
  git $OLDEST_GIT or newer (found: none)"
    else
        git_version=$(git --version | sed 's/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/')
        if [ "${git_version%%.*}" -lt "${OLDEST_GIT%%.*}" ] || {
            [ "${git_version%%.*}" -eq "${OLDEST_GIT%%.*}" ] && [ "${git_version#*.}" -lt "${OLDEST_GIT#*.}" ]
        }; then
            missing="$missing
  git $OLDEST_GIT or newer (found: $git_version)"
        fi
    fi
    if [ -n "$missing" ]; then
        printf 'This needs, and did not find:%s\n' "$missing" >&2
        exit 1
    fi
}

# make_environment FOLDER EXTRA: this checkout, installed editable with an extra; reused while pyproject.toml stays.
make_environment() {
    stamp="$1/.installed-$2"
    wanted="$ROOT $(cksum <"$ROOT/pyproject.toml")"
    if [ ! -f "$1/pyvenv.cfg" ] || ! environment_python "$1" -c pass 2>/dev/null; then
        echo "Making an environment in $1 ..."
        "$FOUND_PYTHON" -m venv --clear "$1"
    fi
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing sourcelight[$2] into it (a minute or two the first time) ..."
        # uv takes seconds for 230 packages where pip takes minutes; pip does it where it has an index of its own, which
        # uv does not know, and where uv can't be had or fails.
        if ! install_with_uv "$1" "$ROOT[$2]" &&
            ! environment_python "$1" -m pip install --quiet --disable-pip-version-check --no-compile -e "$ROOT[$2]"; then
            echo "pip could not install the packages that pyproject.toml names; its message stands above." >&2
            exit 1
        fi
        printf '%s\n' "$wanted" >"$stamp"
    fi
}

# install_with_uv FOLDER REQUIREMENT
install_with_uv() {
    case $(environment_python "$1" -m pip config list) in *index-url*) return 1 ;; esac
    # Behind a proxy with an authority of its own, uv trusts it, as pip does, only where it reads the system's certificates.
    environment_python "$1" -m pip install --quiet --disable-pip-version-check uv &&
        UV_SYSTEM_CERTS=1 environment_python "$1" -m uv pip install --quiet --python "$1" -e "$2"
}

# environment_python FOLDER ARGUMENT...: run the interpreter of an environment.
environment_python() {
    folder=$1
    shift
    if [ -x "$folder/bin/python" ]; then "$folder/bin/python" "$@"; else "$folder/Scripts/python" "$@"; fi
}
