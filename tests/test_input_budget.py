"""A limit to how much input is read: each source counts what it reads, packed files as they are unpacked."""

import gzip
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from lineage_merge.infra import input_budget, storage
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import Slice
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.errors import InputTooLarge
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files
from lineage_merge.sources.registry import list_configured
from lineage_merge.sources.spline import arango_queries, export
from lineage_merge.sources.spline.agent.messages import messages
from tests.arango_fixtures import ArangoServer
from tests.s3_fixtures import S3
from tests.spline_documents import SplineDatabase

DATA = Path(__file__).parent / "data"
Put = Callable[[str, bytes], str]


@pytest.fixture(params=["local", "s3"])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Stores a file locally or in S3; gives its location."""
    if request.param == "s3":
        s3: S3 = request.getfixturevalue("s3")
        return lambda name, content: s3.put("bucket", name, content)

    def local(name: str, content: bytes) -> str:
        tmp_path.joinpath(name).write_bytes(content)
        return str(tmp_path / name)

    return local


def read(**sources: Any) -> int:
    """Read the only source of a configuration: how many records."""
    found = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **sources}, needs_source=False)
    ((source, _),) = list_configured(found)
    return len(source.read(LocalEngine(), found, from_config(found)).collect())


def size(**sources: Any) -> int:
    found = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **sources}, needs_source=False)
    ((source, settings),) = list_configured(found)
    listed = source.size(settings)
    assert listed is not None
    return listed


def events() -> bytes:
    return (DATA / "openlineage" / "tpch.jsonl").read_bytes()


def array() -> bytes:
    return b"[" + b",".join(events().splitlines()) + b"]"


def manifest() -> bytes:
    return (DATA / "dbt" / "duckdb_v12" / "manifest.json").read_bytes()


def of_dbt(location: str, **more: str) -> dict[str, Any]:
    return {"dbt": [{"manifest": location, "namespace": "duckdb://x", **more}]}


# By source: a file's name, its content, and the configuration that reads it.
SOURCES: dict[str, tuple[str, Callable[[], bytes], Callable[[str], dict[str, Any]]]] = {
    "openlineage lines": ("events.jsonl", events, lambda at: {"openlineage": {"events": at}}),
    "openlineage array": ("events.json", array, lambda at: {"openlineage": {"events": at}}),
    "hive": (
        "hive.log",
        lambda: (DATA / "hive" / "hive-lineage.log").read_bytes(),
        lambda at: {"hive": {"log": at}},
    ),
    "dbt": ("manifest.json", manifest, of_dbt),
    "sql": (
        "load.sql",
        lambda: b"insert into a.t select id from raw.s;\n" * 20,
        lambda at: {"sql": [{"path": at, "dialect": "hive"}]},
    ),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("source", SOURCES)
def test_a_source_may_read_so_many_bytes_of_text_and_no_more(put: Put, source: str, packed: bool) -> None:
    name, content, settings = SOURCES[source]
    text = content()
    given = settings(put(f"{name}.gz", gzip.compress(text)) if packed else put(name, text))
    if packed and source == "sql":
        # A packed file of SQL is read where it is named.
        assert size(**given) < len(text)
    expected = read(**given)

    with input_budget.limit_input(len(text)):
        assert read(**given) == expected
    with pytest.raises(InputTooLarge) as raised, input_budget.limit_input(len(text) - 1):
        read(**given)

    assert raised.value.message == f"the sources contain more than {len(text) - 1:,} bytes of text"
    if packed:
        assert size(**given) < len(text) - 1


def test_catalogs_and_run_results_of_dbt_count_beside_the_manifest(tmp_path: Path) -> None:
    folder = DATA / "dbt" / "duckdb_v12"
    version = b"https://schemas.getdbt.com/dbt/run-results/v6.json"
    results = b'{"metadata": {"dbt_schema_version": "' + version + b'"}, "results": []}'
    texts = [(folder / "manifest.json").read_bytes(), (folder / "catalog.json").read_bytes(), results]
    files = [tmp_path / name for name in ("manifest.json.gz", "catalog.json.gz", "run_results.json.gz")]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(gzip.compress(text))
    project = of_dbt(str(files[0]), catalog=str(files[1]), run_results=str(files[2]))
    whole = sum(map(len, texts))

    with input_budget.limit_input(whole):
        assert read(**project) > 0
    with pytest.raises(InputTooLarge), input_budget.limit_input(whole - 1):
        read(**project)


def agent_lines(location: str) -> list[object]:
    return list(messages(line_files.number_lines(Slice(location, 0, 1 << 40))))


def exported(location: str, *, is_json: bool) -> list[object]:
    return list(export.texts(export.Part("", "operation", Slice(location, 0, 1 << 40), is_json)))


@pytest.mark.parametrize(
    ("name", "content", "reading"),
    [
        ("agent.jsonl.gz", b'{"id": 1}\n' * 100, agent_lines),
        ("operation.jsonl.gz", b'{"_key": "1"}\n' * 100, lambda at: exported(at, is_json=False)),
        (
            "operation.json.gz",
            b"[" + b'{"_key": "1"},\n' * 100 + b"{}]",
            lambda at: exported(at, is_json=True),
        ),
    ],
    ids=["agent", "export lines", "export array"],
)
def test_files_of_spline_count_as_they_are_unpacked(
    put: Put, name: str, content: bytes, reading: Callable[[str], list[object]]
) -> None:
    location = put(name, gzip.compress(content))

    with input_budget.limit_input(len(content)):
        found = reading(location)
    with pytest.raises(InputTooLarge), input_budget.limit_input(len(content) - 1):
        reading(location)

    assert found == reading(location)


def test_the_answers_of_a_database_count(arango: ArangoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", arango.password)
    database = SplineDatabase()
    for number in range(200):
        database.plan(f"job{number}", reads=["s3://raw/a"], writes=f"s3://out/{number}", at=number)
    place = {
        "hosts": arango.url,
        "database": arango.database("spline", database.collections),
        "username": arango.username,
        "password_env": "SPLINE_TEST_PASSWORD",
        "batch_size": 20,
    }
    settings = CONFIGURATION.parse(
        {"dag_name": "d", "environment": "dev", "spline": {"arango": place}}
    ).sources["spline"]
    assert settings
    assert settings.arango
    server = settings.arango
    documents = sum(len(repr(each)) for each in arango_queries.events(server, 0, 1 << 60))

    with input_budget.limit_input(2 * documents):
        assert len(list(arango_queries.events(server, 0, 1 << 60))) == 200
    received: list[object] = []
    with pytest.raises(InputTooLarge), input_budget.limit_input(documents // 2):
        received.extend(arango_queries.events(server, 0, 1 << 60))

    assert 0 < len(received) < 150  # in batches, each counted when it arrives


def test_the_answers_of_glue_count(s3: S3) -> None:
    client: Any = boto3.client("glue")
    client.create_database(DatabaseInput={"Name": "tickit"})
    columns = [{"Name": f"column_{number}", "Type": "string"} for number in range(50)]
    for number in range(20):
        storage_of = {"Location": f"s3://lake/{number}", "Columns": columns}
        client.create_table(
            DatabaseName="tickit", TableInput={"Name": f"t{number}", "StorageDescriptor": storage_of}
        )
    client.close()
    glue = {"glue": [{"region": "us-east-1"}]}

    with input_budget.limit_input(1_000_000):
        assert read(**glue) > 20
    with pytest.raises(InputTooLarge), input_budget.limit_input(20_000):
        read(**glue)


def test_no_more_is_unpacked_than_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress(b"x" * (100 << 20)))
    part = Slice(str(file), 0, 1 << 40)
    counted: list[int] = []
    count = input_budget.count

    def remember(number: int) -> None:
        counted.append(number)
        count(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_budget, "count", remember)
        for reading in (storage.read_bytes, lambda _at: list(storage.read_lines(part))):
            counted.clear()
            with pytest.raises(InputTooLarge), input_budget.limit_input(5_000):
                reading(str(file))
            assert counted == [5_001]


def test_nothing_is_counted_outside_or_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x" * 100)
    with pytest.raises(InputTooLarge), input_budget.limit_input(99):
        storage.read_bytes(str(file))

    assert len(storage.read_bytes(str(file))) == 100
    with input_budget.limit_input(250):
        with input_budget.limit_input(100):
            storage.read_bytes(str(file))
        storage.read_bytes(str(file))
        storage.read_bytes(str(file))  # what was read within the inner limit counted there


def test_all_threads_of_an_engine_share_the_limit_and_others_have_none(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x" * 100)
    found: list[bytes] = []

    def reading(_number: int) -> Iterator[bytes]:
        yield storage.read_bytes(str(file))

    def beside() -> None:
        found.append(storage.read_bytes(str(file)))

    rows = LocalEngine(threads=4).rows(range(20)).repartition(20)
    with input_budget.limit_input(2_000):
        other = threading.Thread(target=beside)
        other.start()
        other.join()
        assert rows.flat_map(reading).count() == 20
    with pytest.raises(InputTooLarge), input_budget.limit_input(1_999):
        rows.flat_map(reading)
    assert len(found) == 1


def test_the_error_travels_between_processes() -> None:
    error = InputTooLarge("the sources contain more than 5 bytes of text")

    assert pickle.loads(pickle.dumps(error)).message == error.message
