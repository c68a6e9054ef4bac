"""HTTP servers on a free port of this machine, which give the answers of a test and record requests."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request: `headers` by lowercase names, `data` decompressed."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> Any:
        """The data as JSON; None where there is none."""
        return json.loads(self.data) if self.data else None


# A status, and a body: sent as it is if it is bytes, otherwise as JSON.
Answer = tuple[int, Any]


@dataclass
class Receiver:
    """A server. `answer` returns status and body of each request."""

    answer: Callable[[Request], Answer]
    url: str = ""
    requests: list[Request] = field(default_factory=list)

    @property
    def gremlin_url(self) -> str:
        """The address at which a graph would be, beside the HTTP pages."""
        return f"{self.url.replace('http', 'ws')}/gremlin"


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler], port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """Serve requests by a handler of the standard library (port 0: a free one)."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def receiving(answer: Callable[[Request], Answer], port: int = 0) -> Iterator[Receiver]:
    """Serve requests by a function."""
    receiver = Receiver(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, data)
            receiver.requests.append(request)
            status, body = receiver.answer(request)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(ConnectionError):  # a client that did not wait
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 (the base class's names)

        def log_message(self, *_: object) -> None:
            """Not on standard error."""

    with serving(Handler, port) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield receiver
