%%born smoke
%%text executable
#!/bin/sh
# Send one frame to a running hub and read it back.
set -eu
host=${1:-localhost}
printf '\161\336\002\000\004\000\000\000\012\001\244\361\325' | nc -w 1 "$host" 7171
curl -fsS "http://$host:8080/v2/levels?station=4" | grep sea_level_mm
