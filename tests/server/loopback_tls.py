"""The TLS context that clients of loopback services share: each reading of a system's certificates takes 27 ms."""

from __future__ import annotations

import httpx2

TLS = httpx2.create_ssl_context(trust_env=False)
