"""git over https on a loopback port: `git http-backend` behind a certificate of its own, and remotes that fail."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

USER, PASSWORD = "reader", "s3cr3t-t0ken"
AUTHORIZATION = "Basic cmVhZGVyOnMzY3IzdC10MGtlbg=="
"""Of `USER` and `PASSWORD`; repositories below ``/private`` need it."""


class GitServer(ThreadingHTTPServer):
    """Serves the repositories below a directory.

    Attributes
    ----------
    requests
        Paths with their queries, as they were requested.
    hanging
        Set once somebody asks for a repository below ``/hangs``, which answers when the server closes.
    """

    daemon_threads = True

    def __init__(self, root: Path, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.root = root
        self.requests: list[str] = []
        self.hanging = threading.Event()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def with_credentials(self, path: str) -> str:
        """Address of a repository with user and password."""
        return f"https://{USER}:{PASSWORD}@127.0.0.1:{self.server_address[1]}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: GitServer
    protocol_version = "HTTP/1.1"  # answers end by their length: git refuses an end of TLS without notice

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        self.server.requests.append(self.path)
        if parts.path.startswith("/hangs"):
            self.server.hanging.set()
            self.server.closing.wait(60)
            self.close_connection = True
            return
        if parts.path.startswith("/private") and self.headers.get("Authorization") != AUTHORIZATION:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
        }
        answer = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False, timeout=60
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def git_server(root: Path, files: Mapping[str, str]) -> Iterator[GitServer]:
    """Serve the repositories below `root` until the block ends; `files` are those of `certified`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["cert"], files["key"])
    with GitServer(root, context) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join(30)
