"""Common wrong inputs, each with the message that names what is wrong and its fix.

Configuration and sources are read as a run reads them, on the engine without Spark.
"""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest

from lineage_merge.infra import aws
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.gremlin import configured_endpoint
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import ConfigError, LineageMergeError
from lineage_merge.orchestration import preflight
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import registry
from tests.arango_fixtures import ArangoServer
from tests.s3_fixtures import S3

SECRET = "hunter2!"
HEAD = "dag_name: tickit_daily\nenvironment: dev\n"
DBT = HEAD + 'dbt:\n  - manifest: {}\n    namespace: "redshift://wh.us-east-1:5439"\n'
MANIFEST = "dbt/duckdb_v12/manifest.json"
CATALOG = "dbt/duckdb_v12/catalog.json"
EVENTS = "openlineage/events/tickit_sales_load.jsonl.gz"
LOGIN_PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"


class Case(NamedTuple):
    """A configuration, the files next to it, and the line that is expected.

    `files`: by name, bytes, or the path of a file or folder below `tests/data`. In texts, {folder} is the
    folder of the configuration.
    """

    text: str
    expected: str
    files: Mapping[str, bytes | str] = {}
    code: int = 3


def version(kind: str, number: int) -> bytes:
    url = f"https://schemas.getdbt.com/dbt/{kind}/v{number}.json"
    return json.dumps({"metadata": {"dbt_schema_version": url}, "sources": {}, "nodes": {}}).encode()


CASES: dict[str, Case] = {
    # Files of another kind.
    "a catalog in place of the manifest": Case(
        DBT.format("catalog.json"),
        "{folder}/catalog.json: metadata.dbt_schema_version: is not a dbt manifest, but a dbt catalog:"
        " give it as dbt[].catalog",
        {"catalog.json": CATALOG},
    ),
    "run results in place of the manifest": Case(
        DBT.format("run_results.json"),
        "{folder}/run_results.json: metadata.dbt_schema_version: is not a dbt manifest,"
        " but dbt's run results: give them as dbt[].run_results",
        {"run_results.json": version("run-results", 6)},
    ),
    "the manifest in place of the catalog": Case(
        DBT.format("manifest.json") + "    catalog: manifest.json\n",
        "{folder}/manifest.json: metadata.dbt_schema_version: is not a dbt catalog, but a dbt manifest:"
        " give it as dbt[].manifest",
        {"manifest.json": MANIFEST},
    ),
    "the manifest in place of the run results": Case(
        DBT.format("manifest.json") + "    run_results: manifest.json\n",
        "{folder}/manifest.json: metadata.dbt_schema_version: is not a dbt run results file,"
        " but a dbt manifest: give it as dbt[].manifest",
        {"manifest.json": MANIFEST},
    ),
    "sources.json in place of the manifest": Case(
        DBT.format("sources.json"),
        "{folder}/sources.json: metadata.dbt_schema_version: is not a dbt manifest,"
        " but dbt's source freshness: give it as dbt[].sources",
        {"sources.json": version("sources", 3)},
    ),
    "the page of dbt docs in place of the manifest": Case(
        DBT.format("index.html"),
        "{folder}/index.html: is not a dbt manifest, but the HTML page of dbt docs:"
        " give target/manifest.json and target/catalog.json, not index.html",
        {"index.html": b"<!doctype html><html><head><title>dbt Docs</title></head></html>"},
    ),
    "a login page in place of the manifest": Case(
        DBT.format("manifest.json"),
        "{folder}/manifest.json: is not a dbt manifest, but an HTML page, perhaps of a login:"
        " download the file itself",
        {"manifest.json": LOGIN_PAGE.encode()},
    ),
    "an empty manifest": Case(
        DBT.format("manifest.json"),
        "{folder}/manifest.json: is not a dbt manifest, but an empty file: create it again",
        {"manifest.json": b""},
    ),
    "a compressed manifest without .gz": Case(
        DBT.format("manifest.json"),
        "{folder}/manifest.json: is not a dbt manifest, but compressed with gzip:"
        " end its name in .gz, or unpack it",
        {"manifest.json": gzip.compress(b"{}" * 999)},
    ),
    "an Excel file in place of the manifest": Case(
        DBT.format("manifest.xlsx"),
        "{folder}/manifest.xlsx: is not a dbt manifest, but a ZIP archive or an Excel file:"
        " unpack it, or export it as JSON",
        {"manifest.xlsx": b"PK\x03\x04\x14\x00\x06\x00\x08\x00\xff\xfe"},
    ),
    "a CSV file in place of the manifest": Case(
        DBT.format("models.csv"),
        "{folder}/models.csv: is not a dbt manifest, but a CSV file: export it as JSON",
        {"models.csv": b"model,schema,owner\nsales,public,eve\nusers,public,bob\n"},
    ),
    "a manifest of an unknown version": Case(
        DBT.format("manifest.json"),
        "{folder}/manifest.json: metadata.dbt_schema_version:"
        ' "https://schemas.getdbt.com/dbt/manifest/v99.json" is not a supported manifest:'
        " v1 to v12 and v20 are supported",
        {"manifest.json": version("manifest", 99)},
    ),
    # Files in another place.
    "the dbt project in place of the manifest": Case(
        DBT.format("project"),
        "{folder}/project: a folder, not a file; did you mean {folder}/project/target/manifest.json?",
        {"project/target/manifest.json": MANIFEST},
    ),
    "the manifest without the folder target": Case(
        DBT.format("project/manifest.json"),
        "{folder}/project/manifest.json: no such file; did you mean {folder}/project/target/manifest.json?",
        {"project/target/manifest.json": MANIFEST},
    ),
    "the manifest one folder above": Case(
        DBT.format("artifacts/manifest.json"),
        "{folder}/artifacts/manifest.json: no such file; did you mean {folder}/artifacts/dbt/manifest.json?",
        {"artifacts/dbt/manifest.json": MANIFEST, "artifacts/app/manifest.json": b'{"name": "app"}'},
    ),
    "a misspelt folder": Case(
        HEAD + "spline: {export: export/spline}\n",
        "{folder}/export/spline: no such folder; did you mean {folder}/exports/spline?",
        {"exports/spline": "spline/tickit_sales_load"},
    ),
    "a folder next to the collections": Case(
        HEAD + "spline: {export: exports/logs}\n",
        "{folder}/exports/logs: no collections of Spline found (executionPlan.json or .jsonl, ...);"
        " did you mean {folder}/exports?",
        {"exports": "spline/tickit_sales_load", "exports/logs/export.log": b"42 documents\n"},
    ),
    "a collection in place of its folder": Case(
        HEAD + "spline: {export: exports/executionPlan.jsonl}\n",
        "{folder}/exports/executionPlan.jsonl: a file, not a folder; did you mean {folder}/exports?",
        {"exports": "spline/tickit_sales_load"},
    ),
    # Sources mistaken for each other.
    "OpenLineage events as Spline's export": Case(
        HEAD + "spline: {export: events}\n",
        "{folder}/events: no collections of Spline found (executionPlan.json or .jsonl, ...),"
        " but OpenLineage events: give them as openlineage.events",
        {"events/load.jsonl.gz": EVENTS},
    ),
    "OpenLineage events as an agent's file": Case(
        HEAD + "spline: {agent: events.jsonl.gz}\n",
        "Spline: agent: no plan or event found in the configured files,"
        " but OpenLineage events: give them as openlineage.events",
        {"events.jsonl.gz": EVENTS},
        0,
    ),
    "an agent's file as OpenLineage events": Case(
        HEAD + "openlineage: {events: agent.jsonl.gz}\n",
        "OpenLineage: events: no event found in the configured files,"
        " but messages of a Spline agent: give them as spline.agent",
        {"agent.jsonl.gz": "agent/tickit_sales_load.jsonl.gz"},
        0,
    ),
    "Spline's export as OpenLineage events": Case(
        HEAD + "openlineage: {events: exports/executionPlan.jsonl}\n",
        "OpenLineage: events: no event found in the configured files,"
        " but documents of Spline's database: give the folder of the collections as spline.export",
        {"exports": "spline/tickit_sales_load"},
        0,
    ),
    "a manifest as OpenLineage events": Case(
        HEAD + "openlineage: {events: manifest.json}\n",
        "OpenLineage: events: no event found in the configured files,"
        " but a dbt manifest: give it as dbt[].manifest",
        {"manifest.json": MANIFEST},
        0,
    ),
    "OpenLineage events as Hive's log": Case(
        HEAD + "hive: {log: events.jsonl.gz}\n",
        "Hive: log: no lineage found in the configured files,"
        " but OpenLineage events: give them as openlineage.events",
        {"events.jsonl.gz": EVENTS},
        0,
    ),
    "an empty log": Case(
        HEAD + "hive: {log: hive.log}\n",
        "Hive: log: no lineage found in the configured files, but an empty file: create it again",
        {"hive.log": b"\n"},
        0,
    ),
    # Configuration.
    "a password as the name of its variable": Case(
        HEAD + f"spline:\n  arango: {{hosts: 'http://h:1', database: d, password_env: '{SECRET}'}}\n",
        "{folder}/lineage_merge.yml:4: spline.arango.password_env:"
        " must be the name of an environment variable:"
        " set a variable to the password, and give its name",
        code=2,
    ),
    "a variable that is not set": Case(
        HEAD + "spline: {arango: {hosts: 'http://h:1', database: d, password_env: hunter2}}\n",
        "configuration: spline.arango.password_env: the environment variable of this name is not set;"
        " set it, or give a variable's name",
        code=2,
    ),
    "the password itself": Case(
        HEAD + f"spline: {{arango: {{hosts: 'http://h:1', database: d, password: '{SECRET}'}}}}\n",
        "{folder}/lineage_merge.yml:3: spline.arango.password: is not a known key;"
        " did you mean password_env or password_secret?"
        " Set a variable to it, and give its name as spline.arango.password_env",
        code=2,
    ),
    "https for Gremlin": Case(
        HEAD + "spline: {export: x}\ngremlin:\n  endpoint: https://cluster:8182\n",
        "{folder}/lineage_merge.yml:5: gremlin.endpoint: must be embedded, ws://host:port/gremlin or wss://...:"
        " write wss:// in place of https://, and the path /gremlin",
        code=2,
    ),
    "Neptune without the path": Case(
        HEAD + "spline: {export: x}\ngremlin: {endpoint: 'wss://c.eu-west-1.neptune.amazonaws.com:8182'}\n",
        "configuration: gremlin.endpoint: the path is missing:"
        " wss://c.eu-west-1.neptune.amazonaws.com:8182/gremlin",
        code=2,
    ),
    "ArangoDB without http": Case(
        HEAD + "spline: {arango: {hosts: 'arangodb:8529', database: d}}\n",
        "{folder}/lineage_merge.yml:3: spline.arango.hosts: must be http://host:port or https://...:"
        " begin with http:// (https:// with TLS)",
        code=2,
    ),
    "a port of another service": Case(
        HEAD + "spline: {arango: {hosts: 'http://127.0.0.1:9092', database: d}}\n",
        "no connection to ArangoDB at http://127.0.0.1:9092"
        " (port 9092 is usually that of Kafka, ArangoDB's is 8529)",
    ),
    "a tab": Case(
        HEAD + "spline:\n\texport: x\n",
        "{folder}/lineage_merge.yml:4: a tab in the indentation: YAML requires spaces",
        code=2,
    ),
    "a key twice": Case(
        HEAD + "spline:\n  export: x\n  export: y\n",
        "{folder}/lineage_merge.yml:5: duplicate key: export (also on line 4)",
        code=2,
    ),
    "dbt as a mapping": Case(
        HEAD + "dbt:\n  manifest: target/manifest.json\n",
        '{folder}/lineage_merge.yml:3: dbt: must be a list: [{"manifest": "target/manifest.json",'
        ' "namespace": "redshift://cluster.region:5439"}], not an object; begin each entry with "- "',
        code=2,
    ),
    "one application as text": Case(
        HEAD + "spline:\n  export: x\n  applications: tickit_*\n",
        '{folder}/lineage_merge.yml:5: spline.applications: must be a list: ["tickit_*"], not a string',
        code=2,
    ),
    "an availability zone": Case(
        HEAD + "glue:\n  - region: eu-west-1a\n",
        "{folder}/lineage_merge.yml:4: glue[0].region: must be a region such as us-east-1, not 'eu-west-1a':"
        " this is an availability zone, omit its last letter",
        code=2,
    ),
    "a key with dots": Case(
        HEAD + "spline.export: x\n",
        "{folder}/lineage_merge.yml:3: spline.export: is not a known key: write export below spline",
        code=2,
    ),
    "a misspelt exporter": Case(
        HEAD + "spline: {export: x}\nexporters:\n  data-hub: {}\n",
        "{folder}/lineage_merge.yml:5: exporters.data-hub: is not a known key; did you mean datahub?",
        code=2,
    ),
}


def write(folder: Path, data: Path, case: Case) -> Path:
    """Write the files and the configuration of a case."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif (data / content).is_dir():
            shutil.copytree(data / content, path)
        else:
            shutil.copyfile(data / content, path)
    file = folder / "lineage_merge.yml"
    file.write_text(case.text)
    return file


def messages(file: Path) -> tuple[int, list[str]]:
    """Return the exit code, and the errors or else the problems of reading all sources."""
    try:
        config = CONFIGURATION.load(file, environ={})
        configured_endpoint.endpoint(config.gremlin)
        preflight.check_sources(config)
        found: list[Any] = []
        for source, settings in registry.list_configured(config):
            source.size(settings)
            found += source.read(LocalEngine(), config, from_config(config)).collect()
    except ConfigError as error:
        return error.exit_code, list(error.lines)
    except LineageMergeError as error:
        return error.exit_code, [error.message]
    return 0, list(_problems(found))


def _problems(found: list[Any]) -> Iterator[str]:
    for record in found:
        if isinstance(record, Problem):
            yield ": ".join(part for part in (record.document, record.field, record.message) if part)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_wrong_input_is_named_with_its_fix(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    monkeypatch.delenv("hunter2", raising=False)

    code, lines = messages(write(tmp_path, data, case))

    assert (code, case.expected.replace("{folder}", str(tmp_path)) in lines) == (case.code, True), lines
    assert not any("hunter2" in line for line in lines)
    assert code == 0 or len(lines) == 1


def arango_settings(arango: ArangoServer, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WRONG_INPUTS_PASSWORD", arango.password)
    return (
        f"{HEAD}spline:\n  arango: {{hosts: '{arango.url}', database: {database},"
        f" username: {arango.username}, password_env: WRONG_INPUTS_PASSWORD}}\n"
    )


def test_an_unknown_database_is_named_with_those_that_exist(
    tmp_path: Path, data: Path, arango: ArangoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = arango.database("spline", data / "spline/tickit_sales_load")

    case = Case(arango_settings(arango, exists[:-1], monkeypatch), "")
    code, (line,) = messages(write(tmp_path, data, case))

    assert code == 3
    assert f"missing database '{exists[:-1]}'; it has " in line
    assert line.endswith(f"; did you mean {exists}?")


def test_a_database_without_spline_is_described(
    tmp_path: Path, data: Path, arango: ArangoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline = arango.database("spline", data / "spline/tickit_sales_load")
    shop = arango.database("shop", {"orders": [{"_key": "1"}], "users": []})

    code, (line,) = messages(write(tmp_path, data, Case(arango_settings(arango, shop, monkeypatch), "")))

    assert code == 3
    assert line.startswith(
        f"ArangoDB database {shop}: the required collection executionPlan is missing; it has orders, users;"
    )
    assert spline in line.rpartition("; other databases: ")[2].split(", ")


def test_a_misspelt_bucket_is_named_with_a_similar_one(tmp_path: Path, data: Path, s3: S3) -> None:
    s3.put("tickit-artifacts", "target/manifest.json", data / MANIFEST)

    found = messages(
        write(tmp_path, data, Case(DBT.format("s3://tickit-artefacts/target/manifest.json"), ""))
    )

    assert found == (
        3,
        ["s3://tickit-artefacts/target/manifest.json: no such bucket; did you mean tickit-artifacts?"],
    )


def test_a_prefix_in_place_of_the_manifest_is_named_with_the_file(tmp_path: Path, data: Path, s3: S3) -> None:
    s3.put("artifacts", "tickit/target/manifest.json", data / MANIFEST)

    found = messages(write(tmp_path, data, Case(DBT.format("s3://artifacts/tickit"), "")))

    assert found == (
        3,
        ["s3://artifacts/tickit: no such object; did you mean s3://artifacts/tickit/target/manifest.json?"],
    )


def test_a_parent_in_s3_is_found(tmp_path: Path, data: Path, s3: S3) -> None:
    s3.put_folder("lake", "exports", data / "spline/tickit_sales_load")
    s3.put("lake", "exports/logs/export.log", "42 documents")

    code, (line,) = messages(
        write(tmp_path, data, Case(HEAD + "spline: {export: s3://lake/exports/logs}\n", ""))
    )

    assert code == 3
    assert line.endswith("; did you mean s3://lake/exports?")


def test_s3_without_credentials_is_named_with_the_fix(
    tmp_path: Path, data: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it has the credentials of earlier tests
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)

    found = messages(write(tmp_path, data, Case(DBT.format("s3://artifacts/manifest.json"), "")))

    assert found == (
        3,
        [f"s3://artifacts/manifest.json: no AWS credentials found: {aws.LOG_IN}"],
    )


def test_rejected_credentials_are_named_with_the_fix(
    tmp_path: Path, data: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.put("artifacts", "manifest.json", data / MANIFEST)
    fix = "check AWS_PROFILE and AWS_ACCESS_KEY_ID"
    s3.refuse_strangers()
    try:
        found = messages(write(tmp_path, data, Case(DBT.format("s3://artifacts/manifest.json"), "")))
    finally:
        s3.welcome_all()

    assert found == (
        3,
        [f"s3://artifacts/manifest.json: S3 rejects these credentials (InvalidAccessKeyId): {fix}"],
    )


@pytest.mark.parametrize(
    ("error", "headers", "expected"),
    [
        (
            {"Code": "PermanentRedirect"},
            {"x-amz-bucket-region": "eu-west-1"},
            "the bucket is in another region: set AWS_REGION=eu-west-1",
        ),
        (
            {"Code": "AuthorizationHeaderMalformed", "Region": "eu-central-1"},
            {},
            "the bucket is in another region: set AWS_REGION=eu-central-1",
        ),
        (
            {"Code": "AccessDenied"},
            {},
            "S3 rejects these credentials (AccessDenied): allow s3:GetObject and s3:ListBucket",
        ),
    ],
)
def test_answers_of_s3_are_named_with_the_fix(
    tmp_path: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: dict[str, str],
    headers: dict[str, str],
    expected: str,
) -> None:
    from botocore.exceptions import ClientError

    from lineage_merge.infra.storage import access

    class Refusing:
        def __getattr__(self, _name: str) -> Callable[..., Any]:
            def refuse(**_arguments: Any) -> Any:
                answer: Any = {"Error": error, "ResponseMetadata": {"HTTPHeaders": headers}}
                raise ClientError(answer, "GetObject")

            return refuse

    monkeypatch.setattr(access, "_client_of", lambda *_: Refusing())

    found = messages(write(tmp_path, data, Case(DBT.format("s3://artifacts/manifest.json"), "")))

    assert found == (3, [f"s3://artifacts/manifest.json: {expected}"])
