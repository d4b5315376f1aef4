%%born tools-table
"""Print the newest levels as a Markdown table, for the monthly letter."""

%%if table-levels
from pytide import Hub, HubError
%%else
from pytide import Hub, fetch_levels
%%end

STATIONS = ["AR01", "BR01", "CA01", "DU01"]


def level_table(hub: Hub) -> str:
    """One row per station."""
    rows = ["| station | level |", "| --- | --- |"]
    for code in STATIONS:
%%if table-levels
        try:
            levels = hub.levels(code, limit=1)
        except HubError as error:
            rows.append(f"| {code} | {error.status} |")
            continue
        rows.append(f"| {code} | {levels['sea_level_mm'].iloc[-1]} mm |")
%%else
        rows.append(f"| {code} | {fetch_levels(hub, code)[-1][1]} mm |")
%%end
    return "\n".join(rows)


if __name__ == "__main__":
    print(level_table(Hub("https://hub.example")))
