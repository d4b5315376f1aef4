%%moved src-layout pytide/client.py
"""Talk to a hub."""

%%if levels
from __future__ import annotations

%%end
%%if retry
import time
%%end
%%if deprecate
import warnings
%%end

%%if httpx
import httpx
%%else
import requests
%%end
%%if errors

from pytide.errors import HubError, StationUnknown
%%end
%%if retry
from pytide.retry import RetryPolicy
%%end
%%if frames
from pytide.frames import levels_frame
%%end

DEFAULT_TIMEOUT = «timeout»


class Hub:
    """One hub.

    Parameters
    ----------
    url
        Where its API answers, without a path.
%%if token
    token
        Access token for hubs behind a proxy; never logged.
%%end
%%if retry
    retry
        How often and how long to try again.
%%end
    """

%%if token
    def __init__(self, url, token=None, retry=RetryPolicy()):
%%else
%%if retry
    def __init__(self, url, retry=RetryPolicy()):
%%else
    def __init__(self, url):
%%end
%%end
        self.url = url.rstrip("/")
%%if retry
        self.retry = retry
%%end
%%if httpx
        headers = {}
%%if token
        if token:
            headers["Authorization"] = f"Bearer {token}"
%%end
        self.session = httpx.Client(base_url=self.url, headers=headers, timeout=DEFAULT_TIMEOUT)
%%else
        self.session = requests.Session()
%%end
%%if levels

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.close()

    def stations(self) -> list[dict]:
        """List every gauge of the hub."""
        return self._get("/v2/stations")

    def levels(self, station: str, since: int = 0, limit: int | None = None):
        """Get water levels of a station.

        Parameters
        ----------
        station
            Code such as ``AR01``.
        since
            First minute.
        limit
            Newest rows only.
        """
        params = {"station": station, "since": since}
        if limit is not None:
            params["limit"] = limit
        rows = self._get("/v2/levels", **params)
%%if frames
        return levels_frame(rows, station=station)
%%else
        return [(row["minute"], row["sea_level_mm"]) for row in rows]
%%end
%%end

    def _get(self, path, **params):
%%if retry
        for attempt, delay in enumerate(self.retry.delays()):
            try:
%%if httpx
                answer = self.session.get(path, params=params)
%%else
                answer = self.session.get(self.url + path, params=params, timeout=DEFAULT_TIMEOUT)
%%end
%%if httpx
            except httpx.TransportError:
%%else
            except requests.ConnectionError:
%%end
                if attempt == self.retry.attempts - 1:
                    raise
                time.sleep(delay)
                continue
%%if retry-503
            if answer.status_code == 503:
                time.sleep(delay)
                continue
%%end
            break
%%else
        answer = self.session.get(self.url + path, params=params, timeout=DEFAULT_TIMEOUT)
%%end
%%if errors
        if answer.status_code == 404:
            raise StationUnknown(404, answer.text)
        if answer.status_code >= 400:
            raise HubError(answer.status_code, answer.text)
%%else
        answer.raise_for_status()
%%end
%%if levels
        return answer.json()
%%else
        return answer.text
%%end
%%if fetch-dead
%%else


def fetch_levels(hub, station):
    """Get levels from /v1/read as pairs of minute and millimetres."""
%%if deprecate
    warnings.warn("fetch_levels is deprecated, use Hub.levels", DeprecationWarning, stacklevel=2)
    return [(row["minute"], row["sea_level_mm"]) for row in hub._get("/v2/levels", station=station)]
%%else
    text = hub._get("/v1/read", station=station)
    return [tuple(map(int, line.split())) for line in text.splitlines()]
%%end
%%end
