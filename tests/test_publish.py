"""What `publish` puts into S3 can be installed by pip without any index, and says how it is used."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from lineage_merge import __version__
from lineage_merge.model.errors import ConfigError, LineageMergeError, SourceMissing
from lineage_merge.orchestration import publish
from lineage_merge.orchestration.publish import wheel_files
from tests.command_line import in_process
from tests.s3_fixtures import S3

PREFIX = "s3://artifacts/lineage_merge"
OWN = f"lineage_merge-{__version__}-py3-none-any.whl"


def keys(s3: S3) -> set[str]:
    listed = s3.client.list_objects_v2(Bucket="artifacts").get("Contents", [])
    return {each["Key"].removeprefix("lineage_merge/") for each in listed}


@pytest.fixture
def bucket(s3: S3) -> S3:
    s3.client.create_bucket(Bucket="artifacts")
    return s3


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment, whose pip has no index."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    return folder


def pip(environment: Path, *words: str) -> None:
    command = [sys.executable, "-m", "pip", "--isolated", "--python", str(environment / "bin/python")]
    words = ("install", "--quiet", "--no-index", *words)
    subprocess.run([*command, *words], check=True, timeout=120, env=without_path())


def without_path() -> dict[str, str]:
    """This environment without the places that a developer's path adds to every Python."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def a_wheel(folder: Path, name: str, version: str, *requires: str) -> Path:
    """Write a minimal wheel of another project."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    information = f"{name}-{version}.dist-info"
    needs = "".join(["Provides-Extra: columns\n", *(f"Requires-Dist: {each}\n" for each in requires)])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
        )
        archive.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    return path


def test_the_wheel_installs_without_an_index_and_has_all_that_runs(environment: Path, tmp_path: Path) -> None:
    built = wheel_files.build(tmp_path)

    pip(environment, "--no-deps", str(built))

    package = next(environment.glob("lib/*/site-packages")) / "lineage_merge"
    for name in (
        "orchestration/pipeline.py",
        "graph_format/node.schema.json",
        "py.typed",
        "orchestration/publish/lineage_merge_job.py",
    ):
        assert package.joinpath(name).is_file(), name
    shown = subprocess.run(
        [environment / "bin/python", "-c", "import lineage_merge; print(lineage_merge.__version__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=without_path(),
    )
    assert shown.stdout.strip() == __version__
    assert (environment / "bin/lineage-merge").is_file()


def test_the_same_files_make_the_same_wheel(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    assert wheel_files.build(first).read_bytes() == wheel_files.build(second).read_bytes()


def test_the_wheel_of_an_installed_wheel_is_the_same(environment: Path, tmp_path: Path) -> None:
    """Without a source tree, the installed package is published."""
    built = wheel_files.build(tmp_path)
    pip(environment, "--no-deps", "--force-reinstall", str(built))
    package = next(environment.glob("lib/*/site-packages"))
    again = tmp_path / "again"
    again.mkdir()
    # Its dependencies are this environment's.
    paths = [str(package), *(path for path in sys.path if path.endswith("-packages"))]
    code = f"import sys; sys.path[:0] = {paths!r}\nfrom pathlib import Path\n"
    code += "from lineage_merge.orchestration.publish import wheel_files\n"
    code += f"print(wheel_files.build(Path({str(again)!r})))"

    command = [str(environment / "bin/python"), "-c", code]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=without_path())

    with zipfile.ZipFile(built) as first, zipfile.ZipFile(again / OWN) as second:
        assert first.namelist() == second.namelist()
        assert all(first.read(name) == second.read(name) for name in first.namelist())


def test_script_and_wheel_lie_in_s3_and_the_list_beside_them_names_them(bucket: S3) -> None:
    published = publish.publish(PREFIX)

    assert keys(bucket) == {"lineage_merge_job.py", OWN, "lineage_merge.json"}
    found = publish.read(PREFIX)
    assert found["script"] == published.script == f"{PREFIX}/lineage_merge_job.py"
    modules = found["glue"]["--additional-python-modules"].split(",")
    assert modules == [f"{PREFIX}/{OWN}", "gremlinpython==3.7.*", "sqlglot==30.*"], (
        "a comma ends a module: no ranges"
    )
    script = bucket.client.get_object(Bucket="artifacts", Key="lineage_merge/lineage_merge_job.py")
    assert script["Body"].read() == publish.SCRIPT.read_bytes()


def test_publishing_again_replaces_what_is_there(bucket: S3) -> None:
    bucket.put("artifacts", f"lineage_merge/{OWN}", b"an older one")

    publish.publish(PREFIX)

    size = bucket.client.head_object(Bucket="artifacts", Key=f"lineage_merge/{OWN}")["ContentLength"]
    assert size > 100_000


def test_given_wheels_become_one_archive_that_glue_installs_without_internet(
    bucket: S3, tmp_path: Path, environment: Path
) -> None:
    a_wheel(tmp_path, "other", "1.0")
    a_wheel(tmp_path, "lineage_merge", "0.0.1")

    published = publish.publish(PREFIX, wheels=tmp_path)

    archive = published.glue["--additional-python-modules"]
    assert archive == f"{PREFIX}/lineage_merge-{__version__}.gluewheels.zip"
    assert published.glue["--python-modules-installer-option"] == "--no-index"
    local = tmp_path / "archive.zip"
    bucket.client.download_file("artifacts", archive.removeprefix("s3://artifacts/"), str(local))
    with zipfile.ZipFile(local) as opened:
        names = set(opened.namelist())
        opened.extractall(tmp_path)
    assert names == {"wheels/requirements.txt", f"wheels/{OWN}", "wheels/other-1.0-py3-none-any.whl"}
    assert (tmp_path / "wheels/requirements.txt").read_text() == f"lineage-merge[columns]=={__version__}\n"


@pytest.mark.parametrize(
    ("python", "other"),
    [
        ("3.11", "other-1.5-cp311-cp311-manylinux_2_28_x86_64.whl"),
        ("3.13", "other-1.6-cp313-cp313-manylinux_2_28_x86_64.whl"),
    ],
)
def test_dependencies_are_fetched_for_the_clusters_machine_not_for_this_one(
    tmp_path: Path, python: str, other: str
) -> None:
    """From a folder in place of an index: a wheel for each Python."""
    folder, target = tmp_path / "index", tmp_path / "target"
    folder.mkdir()
    target.mkdir()
    own = a_wheel(folder, "own", "1.0", "gremlinpython>=3.7.1,<3.9", "other>=1; extra == 'columns'")
    for version in ("3.7.7", "3.8.1"):  # Neptune documents 3.7
        a_wheel(folder, "gremlinpython", version)
    for tag, version in (
        ("cp311-cp311-manylinux_2_28_x86_64", "1.5"),
        ("cp313-cp313-manylinux_2_28_x86_64", "1.6"),
    ):
        a_wheel(folder, "other", version).rename(folder / f"other-{version}-{tag}.whl")

    found = wheel_files.download(own, target, python, ("--no-index", "--find-links", str(folder)))

    assert [path.name for path in found] == [
        "gremlinpython-3.7.7-py3-none-any.whl",
        other,
        "own-1.0-py3-none-any.whl",
    ]


def test_an_unknown_version_of_glue_publishes_nothing(bucket: S3) -> None:
    with pytest.raises(ConfigError, match=r"--glue-version: must be one of 5\.0, 5\.1, 6\.0, not 7\.0"):
        publish.publish(PREFIX, with_dependencies=True, glue_version="7.0")

    assert keys(bucket) == set()


def test_a_dependency_that_cannot_be_fetched_is_named(bucket: S3, tmp_path: Path) -> None:
    with pytest.raises(
        LineageMergeError, match=r"pip cannot download the dependencies: .*No matching distribution found"
    ):
        publish.publish(
            PREFIX, with_dependencies=True, index_options=("--no-index", "--find-links", str(tmp_path))
        )

    assert keys(bucket) == set(), "nothing is published by halves"


def test_a_packed_python_is_what_emr_serverless_runs(bucket: S3, tmp_path: Path) -> None:
    packed = tmp_path / "environment.tar.gz"
    packed.write_bytes(b"packed")

    published = publish.publish(PREFIX, environment=packed)

    assert "environment.tar.gz" in keys(bucket)
    words = published.emr_serverless.split()
    assert f"spark.archives={PREFIX}/environment.tar.gz#environment" in words
    assert "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON=./environment/bin/python3" in words
    assert publish.read(PREFIX)["emr_serverless"] == published.emr_serverless


def test_an_empty_folder_of_wheels_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no wheels found"):
        publish.publish(PREFIX, wheels=tmp_path)


@pytest.mark.parametrize("prefix", ["artifacts/x", "s3://", "file:///tmp/x"])
def test_what_is_no_place_in_s3_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError, match="--s3: must be s3://bucket/prefix"):
        publish.publish(prefix)


def test_a_job_without_a_publication_refers_to_the_command(bucket: S3) -> None:
    with pytest.raises(ConfigError, match=f"run lineage-merge publish --s3 {PREFIX}"):
        publish.read(PREFIX)


@pytest.mark.usefixtures("bucket")
def test_the_command_prints_the_arguments_of_a_job() -> None:
    shown = in_process("publish", "--s3", PREFIX)

    assert shown.code == 0, shown.err
    assert f"  --additional-python-modules {PREFIX}/{OWN},gremlinpython==3.7.*,sqlglot==30.*\n" in shown.out
    assert f"  script location: {PREFIX}/lineage_merge_job.py\n" in shown.out
    published = json.loads(in_process("publish", "--s3", PREFIX, "--json").out)
    assert published["glue"] == publish.read(PREFIX)["glue"]


def test_a_missing_bucket_is_reported_in_one_line(s3: S3) -> None:
    shown = in_process("publish", "--s3", "s3://nowhere/x")

    assert shown.code == 3
    assert shown.err == "error: s3://nowhere/x/lineage_merge_job.py: no such bucket\n"
