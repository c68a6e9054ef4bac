"""The fixture `s3`: an S3 server (moto), which boto3 finds by itself, in Spark's workers too.

Workers inherit the environment that Spark's JVM was started with, so the address and the
credentials have to stand there before any test starts Spark: they are set when this plugin is
loaded. The port is taken then as well; the server starts when a test first asks for it.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
import requests
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_SOCKET = pytest.StashKey[socket.socket]()
_DATAZONE = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Take a port, and put the server's address and its credentials into the environment."""
    taken = socket.socket()
    config.add_cleanup(taken.close)
    taken.bind(("127.0.0.1", 0))
    config.stash[_SOCKET] = taken
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    # A developer's own profile, region or endpoint must not matter.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    for service in ("S3", "GLUE", "SECRETS_MANAGER"):
        patch.setenv(f"AWS_ENDPOINT_URL_{service}", f"http://127.0.0.1:{taken.getsockname()[1]}")
    # moto has no DataZone: a test serves it here (`tests/sources/openlineage/event_services.py`).
    reserved = socket.socket()
    config.add_cleanup(reserved.close)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    config.stash[_DATAZONE] = reserved.getsockname()[1]
    patch.setenv("AWS_ENDPOINT_URL_DATAZONE", f"http://127.0.0.1:{config.stash[_DATAZONE]}")
    patch.setenv("AWS_ACCESS_KEY_ID", "testing")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("AWS_CONFIG_FILE", os.devnull)
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


class S3:
    """A server with no buckets at the start of a test. `url` is its address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = boto3.client("s3", endpoint_url=url)

    def put(self, bucket: str, key: str, content: Path | bytes | str) -> str:
        """Store an object (a path stands for the file's content); the bucket is made where it lacks."""
        data = content.read_bytes() if isinstance(content, Path) else content
        if bucket not in {each["Name"] for each in self.client.list_buckets()["Buckets"]}:
            self.client.create_bucket(Bucket=bucket)
        self.client.put_object(Bucket=bucket, Key=key, Body=data)
        return f"s3://{bucket}/{key}"

    def put_folder(self, bucket: str, prefix: str, folder: Path) -> str:
        """Store every file below a local folder; the location of the folder in S3."""
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            self.put(bucket, f"{prefix}/{path.relative_to(folder)}", path)
        return f"s3://{bucket}/{prefix}"

    def refuse_strangers(self) -> None:
        """From now on to the end of the test, only credentials that the server knows are served."""
        requests.post(f"{self.url}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()

    def welcome_all(self) -> None:
        """The end of `refuse_strangers`."""
        requests.post(f"{self.url}/moto-api/reset-auth", data=b"inf", timeout=10).raise_for_status()

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


@contextmanager
def serving(listener: socket.socket) -> Iterator[str]:
    """Run an S3 server (moto, with the other services of AWS) on a bound socket; give its address."""
    listener.listen()
    host, port = listener.getsockname()
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server(host, port, application, threaded=True, fd=listener.fileno())
    thread = Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def s3_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """The address of a running S3 server, the one that ``AWS_ENDPOINT_URL_S3`` names."""
    with serving(pytestconfig.stash[_SOCKET]) as url:
        yield url


@pytest.fixture(scope="session")
def datazone_port(pytestconfig: pytest.Config) -> int:
    """The port of ``AWS_ENDPOINT_URL_DATAZONE``, on which nothing listens."""
    return pytestconfig.stash[_DATAZONE]


@pytest.fixture
def s3(s3_url: str) -> Iterator[S3]:
    """An S3 server without buckets."""
    requests.post(f"{s3_url}/moto-api/reset", timeout=10).raise_for_status()
    store = S3(s3_url)
    try:
        yield store
    finally:
        store.welcome_all()
        store.close()
