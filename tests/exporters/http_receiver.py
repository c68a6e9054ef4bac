"""A small HTTP server that records requests and returns the answers of a test."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request: `headers` by lowercase names, `body` decompressed and parsed as JSON (or None)."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Answer = tuple[int, Any]


@dataclass
class Receiver:
    """A server. `answer` returns status and JSON body of each request."""

    answer: Callable[[Request], Answer]
    url: str = ""
    requests: list[Request] = field(default_factory=list)


@contextmanager
def receiving(answer: Callable[[Request], Answer]) -> Iterator[Receiver]:
    """A server on a free port of this machine."""
    receiver = Receiver(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, json.loads(data) if data else None)
            receiver.requests.append(request)
            status, body = receiver.answer(request)
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815 (the base class's names)

        def log_message(self, *_: object) -> None:
            """Not on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
