"""AWS for the checks: moto, behind which a run of a merge's Glue job is its published script, run for real.

    python tests/airflow/aws_standin.py FOLDER

serves it, and a graph, until it is killed, for the processes of a real scheduler. Jobs whose names begin with
``sleep`` only sleep. A run can be stopped, and ends with the error that the script printed, as on Glue.
"""

# mypy: disable-error-code="import-not-found"

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from threading import Lock, Thread
from typing import Any

# Until this file is in the folder of logs, runs of a job that sleeps continue.
RELEASE = "release"
SLEEP = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.2)"


class GlueRuns:
    """The runs of the jobs that are not moto's, as Glue's API shows them."""

    def __init__(self, logs: Path, jobs: tuple[str, ...] = ("lineage_merge", "sleep")) -> None:
        self.logs = logs
        self.jobs = jobs
        self._runs: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._lock = Lock()

    def answer(self, action: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a request of Glue's API; None for what moto answers."""
        method: Callable[[dict[str, Any]], dict[str, Any]] | None = getattr(self, f"_{action}", None)
        if method is None or not str(asked.get("JobName", "")).startswith(self.jobs):
            return None
        return method(asked)

    def _StartJobRun(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 (as Glue's API)
        with self._lock:
            run_id = f"jr_{len(self._runs):064x}"
            run = {
                "Id": run_id,
                "JobName": asked["JobName"],
                "Arguments": asked.get("Arguments", {}),
                "JobRunState": "RUNNING",
                "StartedOn": time.time(),
            }
            self._runs[run_id] = run
            self._processes[run_id] = self._process(run)
        Thread(target=self._end, args=(run_id,), name=run_id, daemon=True).start()
        return {"JobRunId": run_id}

    def _process(self, run: dict[str, Any]) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", SLEEP, str(self.logs / RELEASE)]
        if not run["JobName"].startswith("sleep"):
            script = import_module("lineage_merge.orchestration.publish").SCRIPT
            words = [word for pair in run["Arguments"].items() for word in pair]
            command = [sys.executable, str(script), *words]
        with (self.logs / f"{run['Id']}.log").open("w") as log:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)

    def _end(self, run_id: str) -> None:
        code = self._processes[run_id].wait()
        with self._lock:
            run = self._runs[run_id]
            if run["JobRunState"] == "STOPPING":
                run["JobRunState"] = "STOPPED"
            elif code == 0:
                run["JobRunState"] = "SUCCEEDED"
            else:
                run |= {"JobRunState": "FAILED", "ErrorMessage": f"SystemExit: {code}"}

    def _GetJobRun(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        with self._lock:
            return {"JobRun": dict(self._runs[asked["RunId"]])}

    def _GetJobRuns(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        with self._lock:
            runs = [dict(each) for each in self._runs.values() if each["JobName"] == asked["JobName"]]
        return {"JobRuns": runs[::-1]}

    def _BatchStopJobRun(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stopped = []
        for run_id in asked["JobRunIds"]:
            with self._lock:
                run = self._runs[run_id]
                if run["JobRunState"] != "RUNNING":
                    continue
                run["JobRunState"] = "STOPPING"
                process = self._processes[run_id]
            process.terminate()
            stopped.append({"JobName": asked["JobName"], "JobRunId": run_id})
        return {"SuccessfulSubmissions": stopped, "Errors": []}


Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


def application(runs: GlueRuns, before_emr_run: Callable[[list[str]], None] | None = None) -> Wsgi:
    """The stand-in. `before_emr_run` gets the arguments of a job run of EMR, which runs nothing."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    moto = DomainDispatcherApplication(create_backend_app)

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        service, _, action = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")
        starts_emr = environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"].endswith("/jobruns")
        if service == "AWSGlue" or starts_emr:
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0))
            environ["wsgi.input"] = BytesIO(body)
            asked = json.loads(body or b"{}")
            if starts_emr and before_emr_run:
                before_emr_run(asked["jobDriver"]["sparkSubmit"]["entryPointArguments"])
            found = runs.answer(action, asked)
            if found is not None:
                start_response("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
                return [json.dumps(found).encode()]
        answered: Iterable[bytes] = moto(environ, start_response)
        return answered

    return serve


def serve(wsgi: Wsgi, port: int = 0) -> Any:
    """A server on this machine, not started yet."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    return make_server("127.0.0.1", port, wsgi, threaded=True)


def main() -> None:
    """Serve AWS, with what `publish` puts into S3, and a graph; a file of the folder has their addresses."""
    from lineage_merge.infra.embedded import EmbeddedServer

    folder = Path(sys.argv[1])
    server = serve(application(GlueRuns(folder)))
    url = f"http://127.0.0.1:{server.server_port}"
    os.environ |= {
        "AWS_ENDPOINT_URL": url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    Thread(target=server.serve_forever, name="aws", daemon=True).start()
    prepare()
    with EmbeddedServer(None) as graph:
        addresses = folder / "addresses.new"
        addresses.write_text(json.dumps({"aws": url, "graph": graph.url}))
        addresses.rename(folder / "addresses.json")
        signal.pause()


def prepare() -> None:
    """Put into AWS what a person does once: bucket, secret, and the published package."""
    import boto3

    boto3.client("s3").create_bucket(Bucket="lineage")
    boto3.client("secretsmanager").create_secret(
        Name="lineage/arango", SecretString=json.dumps({"password": "secret of arangodb"})
    )
    program = str(Path(sys.executable).with_name("lineage-merge"))
    subprocess.run(
        [program, "publish", "--s3", "s3://lineage/artifacts"], check=True, stdout=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main()
