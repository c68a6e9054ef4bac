"""Files for Amazon MWAA from a proposed configuration: DAG, requirements, policy of the role. Pure."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files as resources
from pprint import pformat
from typing import Any

from lineage_merge.model.errors import ConfigError
from lineage_merge.model.version import __version__
from lineage_merge.orchestration.init.proposal import Proposal

WHEEL = f"lineage_merge-{__version__}-py3-none-any.whl"
# Keys that Airflow's connections, or the arguments of the task group, set.
_ELSEWHERE = ("dag_name", "environment", "dbt", "gremlin")
_ARTEFACTS = ("manifest", "run_results", "catalog", "sources")

_DAG = '''\
"""Lineage of {dag_name}: dbt, the upload of its artefacts, and the merge. Written by lineage-merge init.

Connections: `arangodb_default` (only for Spline's database), `gremlin_default`. Variables:
`lineage_merge_glue_role` and `lineage_merge_glue_vpc`, the role and the network connection of the Glue job.
"""

import subprocess
import tempfile
from datetime import datetime
from pathlib import Path

from airflow.providers.amazon.aws.hooks.s3 import S3Hook

from lineage_merge.airflow import lineage_merge_task_group

try:
    from airflow.sdk import DAG, task
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.decorators import task

ARTIFACTS = {artifacts!r}
{checks}# Folder of each dbt project on the workers, and the prefix of its artefacts.
DBT_PROJECTS = {projects}
DBT_MANIFESTS = {manifests}
SETTINGS = {settings}


@task
def dbt_build(folder: str, prefix: str) -> None:
    """Run dbt and upload its artefacts: the next task may run on another worker."""
    # The folder of the project is read-only on MWAA.
    with tempfile.TemporaryDirectory() as target:
        command = ["dbt", "build", "--project-dir", folder, "--profiles-dir", folder]
        done = subprocess.run([*command, "--target-path", target, "--log-path", target], check=False)
        for file in Path(target).glob("*.json"):
            S3Hook().load_file(str(file), f"{{prefix}}/{{file.name}}", replace=True)
    done.check_returncode()


with DAG(
    {dag_name!r}, schedule="@daily", start_date=datetime(2024, 1, 1), catchup=False, max_active_runs=1
):
    merge = lineage_merge_task_group(
        "lineage",
        environment={environment!r},
        dbt_manifests=DBT_MANIFESTS or None,
        settings=SETTINGS,
        engine="glue",
        artifacts=ARTIFACTS,
        engine_options={{
            "iam_role_name": "{{{{ var.value.get('lineage_merge_glue_role', '') }}}}",
            "vpc_connections": ["{{{{ var.value.get('lineage_merge_glue_vpc', '') }}}}"],
        }},
    )
    # Add the tasks of your Spark jobs before the merge: glue_job >> merge
    for name, (folder, prefix) in DBT_PROJECTS.items():
        dbt_build.override(task_id=f"dbt_build_{{name}}")(folder, prefix) >> merge
'''

_REQUIREMENTS = f"""\
# Add the --constraint line of your version of Airflow. {WHEEL} is in plugins.zip.
/usr/local/airflow/plugins/{WHEEL}
"""


def files(proposal: Proposal, artifacts: str) -> dict[str, str]:
    """Return the texts of the files by their paths. Raises `ConfigError` for artifacts that are not in S3."""
    if not re.fullmatch(r"s3://[^/\s]+/[^\s]*[^/\s]/*", artifacts):
        raise ConfigError("--artifacts", "expected s3://bucket/prefix, which publish --s3 writes")
    prefix = artifacts.rstrip("/")
    return {
        # Not named like the package, which it would hide.
        f"dags/{re.sub(r'[^A-Za-z0-9_]', '_', proposal.dag_name)}_lineage.py": _dag(proposal, prefix),
        "requirements.txt": _requirements(proposal),
        "mwaa_execution.json": _policy(proposal, prefix),
    }


def _dag(proposal: Proposal, artifacts: str) -> str:
    configured = proposal.settings()
    names = [project.target or project.findings.project or "dbt" for project in proposal.projects]
    prefixes = [f"{artifacts}/dbt/{name}" for name in names]
    projects = {
        name: (f"/usr/local/airflow/dags/dbt/{name}", prefix)
        for name, prefix in zip(names, prefixes, strict=True)
    }
    manifests = [
        {key: f"{prefix}/{key}.json" if key in _ARTEFACTS else value for key, value in entry.items()}
        for entry, prefix in zip(configured.get("dbt", ()), prefixes, strict=True)
    ]
    settings = _settings(configured)
    local = [
        location
        for key, source_input in proposal.inputs.items()
        if key != "dbt"
        for location in source_input.locations
        if "://" not in location
    ]
    checks = "".join(
        f"# CHECK: {each!r} is local: upload it, and give its s3:// path below.\n" for each in local
    )
    return _DAG.format(
        dag_name=proposal.dag_name,
        environment=proposal.environment,
        artifacts=artifacts,
        checks=checks,
        projects=_literal(projects),
        manifests=_literal(manifests),
        settings=_literal(settings),
    )


def _settings(configured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the task group, dotted. The connection of ArangoDB has its address and login."""
    settings: dict[str, Any] = {}
    for section, value in configured.items():
        if section in _ELSEWHERE:
            continue
        if isinstance(value, Mapping):
            settings |= {f"{section}.{key}": member for key, member in value.items() if key != "arango"}
        else:
            settings[section] = value
    return settings


def _literal(value: Any) -> str:
    return pformat(value, sort_dicts=False, width=100)


def _requirements(proposal: Proposal) -> str:
    adapters = sorted({project.findings.platform for project in proposal.projects})
    return _REQUIREMENTS + "".join(f"dbt-{adapter}\n" for adapter in adapters if adapter)


def _policy(proposal: Proposal, artifacts: str) -> str:
    """Return the policy of the environment's role; a wildcard for account, region and names of secrets."""
    bucket, _, prefix = artifacts.removeprefix("s3://").partition("/")
    values = {
        "AWS::Partition": "aws",
        "AWS::Region": "*",
        "AWS::AccountId": "*",
        "JobName": "lineage_merge",
        "JobRole": "lineage-merge-glue",
        "Bucket": bucket,
        "ArtifactsPrefix": prefix,
        "FolderPrefix": f"{prefix}/runs",
        "ArangoSecretArn": "arn:aws:secretsmanager:*:*:secret:lineage/*",
        "AirflowSecretsPrefix": "airflow",
    }
    text = resources(__package__).joinpath("mwaa_execution.json").read_text(encoding="utf-8")
    policy = json.loads(re.sub(r"\$\{([\w:]+)\}", lambda match: values.get(match[1], match[0]), text))
    # Only with a key of the customer, of which the configuration says nothing.
    statements = [each for each in policy["Statement"] if each["Sid"] != "UseKmsKey"]
    if proposal.projects:
        place = f"arn:aws:s3:::{bucket}/{prefix}/dbt/*"
        upload = {"Sid": "UploadDbtArtefacts", "Effect": "Allow", "Action": "s3:PutObject", "Resource": place}
        statements.append(upload)
    return json.dumps(policy | {"Statement": statements}, indent=2) + "\n"
