"""Upload of the artifacts of Glue and EMR Serverless jobs to S3: script, package, dependencies."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError, SourceMissing
from lineage_merge.orchestration.publish import wheel_files

__all__ = ["SCRIPT", "Published", "publish"]


SCRIPT = Path(__file__).with_name("lineage_merge_job.py")
# EMR unpacks archives with `#environment` to this path.
_EMR_PYTHON = "./environment/bin/python3"


@dataclass(frozen=True, slots=True)
class Published:
    """Published artifacts in S3.

    `glue`: further arguments of a Glue job. `emr_serverless`: the ``sparkSubmitParameters``. `locations`: all
    uploaded objects.
    """

    version: str
    script: str
    glue: dict[str, str]
    emr_serverless: str
    locations: tuple[str, ...]


def publish(
    prefix: str,
    *,
    with_dependencies: bool = False,
    wheels: Path | None = None,
    environment: Path | None = None,
    glue_version: str = wheel_files.GLUE_VERSION,
    index_options: tuple[str, ...] = (),
) -> Published:
    """Upload script and package to ``s3://bucket/prefix``; replaces existing objects.

    Dependencies are downloaded for the Python of `glue_version`, or taken from the folder `wheels`, and
    uploaded as one archive that Glue installs without internet access. `environment`: a packed Python for EMR
    Serverless. Raises `LineageMergeError`.
    """
    python = wheel_files.GLUE_PYTHONS.get(glue_version)
    if python is None:
        known = ", ".join(wheel_files.GLUE_PYTHONS)
        raise ConfigError("", f"--glue-version: must be one of {known}, not {glue_version}")
    if not storage.is_s3(prefix) or not prefix.partition("://")[2].strip("/"):
        raise ConfigError("", f"--s3: must be s3://bucket/prefix, not {prefix}")
    version = wheel_files.find_installed_package().version
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        own = wheel_files.build(Path(work))
        files = [SCRIPT, own]
        if with_dependencies or wheels is not None:
            folder = Path(work, "wheels")
            folder.mkdir()
            bundled = (
                wheel_files.wheels(wheels)
                if wheels is not None and not with_dependencies
                else wheel_files.download(own, folder, python, index_options)
            )
            target = Path(work, f"{own.name.partition('-py3')[0]}.gluewheels.zip")
            files.append(wheel_files.bundle(own, bundled, target))
        if environment is not None:
            files.append(environment)
        locations = {file: f"{prefix.rstrip('/')}/{file.name}" for file in files}
        for file, location in locations.items():
            storage.write_file(location, file)
        glue = _glue(locations[own], next((at for at in locations.values() if at.endswith(".zip")), ""))
        spark = _emr_serverless(locations[environment]) if environment is not None else ""
        listed = write(prefix, locations[SCRIPT], glue, spark, version)
    return Published(version, locations[SCRIPT], glue, spark, (*locations.values(), listed))


def _glue(own: str, bundle: str) -> dict[str, str]:
    if bundle:
        return {"--additional-python-modules": bundle, "--python-modules-installer-option": "--no-index"}
    return {"--additional-python-modules": ",".join([own, *wheel_files.modules()])}


def _emr_serverless(environment: str) -> str:
    settings = {
        "spark.archives": f"{environment}#environment",
        "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON": _EMR_PYTHON,
        "spark.emr-serverless.driverEnv.PYSPARK_PYTHON": _EMR_PYTHON,
        "spark.executorEnv.PYSPARK_PYTHON": _EMR_PYTHON,
    }
    return " ".join(f"--conf {name}={value}" for name, value in settings.items())


LIST = "lineage_merge.json"


def write(prefix: str, script: str, glue: dict[str, str], emr_serverless: str, version: str) -> str:
    """Write the index; return its location.

    `glue`: arguments of every run of a Glue job; `emr_serverless`: the text of ``sparkSubmitParameters``.
    """
    versions = {"version": version, "script": script, "glue": glue, "emr_serverless": emr_serverless}
    location = f"{prefix.rstrip('/')}/{LIST}"
    storage.write_text(location, json.dumps(versions, indent=2) + "\n")
    return location


def read(prefix: str) -> dict[str, Any]:
    """Read the index. Raises `ConfigError` if nothing was published, `SourceError` without permission."""
    location = f"{prefix.rstrip('/')}/{LIST}"
    try:
        last = json.loads(storage.read_text(location))
    except SourceMissing as error:
        raise ConfigError("", f"{error.message}: run lineage-merge publish --s3 {prefix}") from None
    except ValueError:
        raise ConfigError("", f"{location}: not an index of lineage-merge publish") from None
    return {"script": str(last["script"]), "glue": last["glue"], "emr_serverless": last["emr_serverless"]}
