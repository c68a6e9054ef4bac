"""Index of the artifacts in S3, for the clients that start jobs."""

import json
from typing import Any

from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError, SourceMissing

LIST = "lineage_merge.json"


def write(prefix: str, script: str, glue: dict[str, str], emr_serverless: str, version: str) -> str:
    """Write the index; return its location.

    `glue`: arguments of every run of a Glue job; `emr_serverless`: the text of ``sparkSubmitParameters``.
    """
    found = {"version": version, "script": script, "glue": glue, "emr_serverless": emr_serverless}
    location = f"{prefix.rstrip('/')}/{LIST}"
    storage.write_text(location, json.dumps(found, indent=2) + "\n")
    return location


def read(prefix: str) -> dict[str, Any]:
    """Read the index. Raises `ConfigError` if nothing was published, `SourceError` without permission."""
    location = f"{prefix.rstrip('/')}/{LIST}"
    try:
        found = json.loads(storage.read_text(location))
    except SourceMissing as error:
        raise ConfigError("", f"{error.message}: run lineage-merge publish --s3 {prefix}") from None
    except ValueError:
        raise ConfigError("", f"{location}: not an index of lineage-merge publish") from None
    return {"script": str(found["script"]), "glue": found["glue"], "emr_serverless": found["emr_serverless"]}
