"""Normalization of paths to their datasets."""

import pytest

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_dataset, name_uri

UUID = "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"
HEX = "0f7d3c1e7f9b4f0e9c395f2f1a4be611"


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("s3://tickit-raw/sales", "s3://tickit-raw", "sales"),
        ("s3a://tickit-raw/sales/", "s3://tickit-raw", "sales"),
        ("S3N://Tickit-Raw//sales///2008//", "s3://Tickit-Raw", "sales/2008"),
        ("s3://KEY:SEC@tickit-raw/sales", "s3://tickit-raw", "sales"),
        ("s3a://KEY:SEC/RET@tickit-raw/sales", "s3://tickit-raw", "sales"),
        ("s3://tickit-raw/sales.csv?versionId=abc", "s3://tickit-raw", "sales.csv"),
        ("s3://tickit-raw", "s3://tickit-raw", "/"),
        ("s3://tickit-raw/", "s3://tickit-raw", "/"),
        ("gs://lake/Raw/Sales", "gs://lake", "Raw/Sales"),
        ("abfs://raw@Acct.dfs.core.windows.net/a/b", "abfss://raw@acct.dfs.core.windows.net", "a/b"),
        ("wasb://raw@acct.blob.core.windows.net/a", "wasbs://raw@acct.blob.core.windows.net", "a"),
        ("hdfs://NameNode:8020/user/hive/x", "hdfs://namenode:8020", "/user/hive/x"),
        ("hdfs://nameservice1/x", "hdfs://nameservice1", "/x"),
        ("hdfs:///x", "hdfs", "/x"),
        ("hdfs://nn:8020/", "hdfs://nn:8020", "/"),
        ("file:/user/hive/warehouse/tpch.db/part", "file", "/user/hive/warehouse/tpch.db/part"),
        ("file:///data/tpch/q01", "file", "/data/tpch/q01"),
        ("file://localhost/data", "file", "/data"),
        ("file://nas/data", "file://nas", "/data"),
        ("/data/tpch/q01", "file", "/data/tpch/q01"),
        ("C:\\data\\x.csv", "file", "/C:/data/x.csv"),
        ("file:/C:/data/x.csv", "file", "/C:/data/x.csv"),
        ("dbfs:/mnt/x", "dbfs", "/mnt/x"),
        ("oss://bucket/a/b/", "oss://bucket", "/a/b"),
        ("https://host/a.csv?sig=abc", "https://host", "/a.csv"),
    ],
)
def test_a_path_has_one_name_however_it_is_written(uri: str, namespace: str, name: str) -> None:
    named = name_uri(uri)
    assert named.name == (namespace, name)
    assert named.label == "file"
    assert named.stored_as_files


@pytest.mark.parametrize(
    "below",
    [
        "saledate=2008-01-02",
        "year=2008/month=1",
        "region=__HIVE_DEFAULT_PARTITION__",
        "ts=2008-01-01 00%3A00%3A00/part-00000.parquet",
        "part-00000-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611-c000.snappy.parquet",
        "part-00000-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611.c000.csv",
        "part-r-00000",
        "part-m-00012.gz",
        "run-1568888888888-part-r-00000",
        "run-AmazonS3_node3-5-part-block-0-r-00002-snappy.parquet",
        "000000_0",
        "000012_0_copy_1.gz",
        "delta_0000005_0000005_0000/bucket_00000",
        "0000_part_00",
        "_SUCCESS",
        "_temporary/0/_temporary/attempt_2020/part-00000",
        "_delta_log/00000000000000000000.json",
        ".hive-staging_hive_2020-01-01_00-00-00_000_1-1/-ext-10000",
        ".spark-staging-0f7d3c1e/dt=1",
        "__magic_job-0f7d3c1e/x",
        ".hoodie/metadata",
        "metadata/00001-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611.metadata.json",
        "metadata/snap-123-1-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611.avro",
        "data/dt=1/00000-0-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611-00001.parquet",
        "dt=2008-01-02/load1.csv",
        "*.csv",
        "{a,b}/*",
        "{a/x,b/y}",
        "2008-*",
        "2008-*/x",
        "part-[0-9]*",
        "200?",
    ],
)
@pytest.mark.parametrize("dataset", ["lake/sales", "/"])
def test_files_of_a_writer_below_a_dataset_are_not_part_of_its_name(below: str, dataset: str) -> None:
    named = name_uri(f"s3://b/{dataset}/{below}")
    assert named.name == ("s3://b", dataset)
    assert named.generated == ""


def test_an_empty_object_that_marks_a_directory_is_that_directory() -> None:
    assert name_uri("s3://b/lake/sales_$folder$").name.name == "lake/sales"


@pytest.mark.parametrize(
    "ordinary",
    [
        "raw/sales.csv",
        "sales/20080102",
        "sales/2008-01-02",
        "sales/2008/01/02",
        "sales/12345",
        "sales/12345678901234567890123456789012",  # 32 decimal digits are a number
        "env=prod/sales",
        "books/part-1",
        "delta_20200101",
        "base_20200101",
        "202001_1",
        "product/metadata/colours.json",
        "table/data",
        "metadata",
        "a@b/c:d",
        "aa==",
        "{template",
        "deadbeef",
        "sales-0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611",
        "my file.csv",
    ],
)
def test_an_ordinary_name_stays_as_it_is(ordinary: str) -> None:
    assert name_uri(f"s3://b/{ordinary}").name == ("s3://b", ordinary)
    assert name_dataset("s3://b", ordinary).name == ("s3://b", ordinary)


@pytest.mark.parametrize(
    ("path", "name", "generated"),
    [
        (f"temp/public.sales/{UUID}", "temp/public.sales", UUID),
        (f"temp/public.sales/{UUID.upper()}/", "temp/public.sales", UUID.upper()),
        (f"temp/public.sales/{HEX}", "temp/public.sales", HEX),
        (f"temp/{UUID}.csv.gz", "temp", f"{UUID}.csv.gz"),
        (f"temp/{UUID}/part-00000", "temp", UUID),
        (f"temp/{UUID}/dt=1/{HEX}", "temp", f"{UUID}/{HEX}"),
        (UUID, "/", UUID),
    ],
)
def test_a_generated_segment_is_removed_and_reported(path: str, name: str, generated: str) -> None:
    named = name_uri(f"s3://b/{path}")
    assert (named.name.name, named.generated) == (name, generated)


def test_a_generated_segment_in_the_middle_stays() -> None:
    assert name_uri(f"s3://b/{UUID}/sales").name.name == f"{UUID}/sales"


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("s3://b/my%20dir/x", "my dir/x"),  # java.net.URI text: a catalog's location, Spark 3.4's file paths
        ("s3://b/my dir/x", "my dir/x"),  # Hadoop's Path
        ("s3://b/caf%C3%A9", "café"),
        ("s3://b/café", "café"),
        ("s3://b/100%25", "100%"),
        ("s3://b/100%", "100%"),  # no valid escape: never encoded
        ("s3://b/my dir/a%20b", "my dir/a%20b"),  # a space: never encoded
        ("s3://b/%FF", "%FF"),  # not UTF-8
    ],
)
def test_a_path_in_uri_text_and_the_same_path_from_hadoop_are_one(uri: str, name: str) -> None:
    assert name_uri(uri).name.name == name


def test_a_name_that_is_openlineage_s_already_is_not_decoded_again() -> None:
    named = name_uri("s3://b/a%2520b").name
    assert named.name == "a%20b"
    assert name_dataset(*named).name == named


@pytest.mark.parametrize(
    ("uri", "short_name"),
    [("s3://b/lake/sales/dt=1", "sales"), ("s3://b", "b"), ("file:/", "/"), ("hdfs://nn:8020/x/y", "y")],
)
def test_the_short_name_is_the_last_segment_or_the_bucket(uri: str, short_name: str) -> None:
    assert name_uri(uri).short_name == short_name


@pytest.mark.parametrize(
    "uri", ["", "  ", "sales", "a/b", "file:", "file:a", "s3://", "s3:///x", "memory://mac/jvm"]
)
def test_an_address_that_names_no_dataset_is_refused(uri: str) -> None:
    with pytest.raises(NamingError):
        name_uri(uri)


def test_a_table_named_by_its_warehouse_location_is_not_a_path() -> None:
    named = name_dataset("file:/user/hive/warehouse", "tpch.lineitem")
    assert named.name == ("file:/user/hive/warehouse", "tpch.lineitem")
    assert (named.label, named.short_name) == ("table", "lineitem")
