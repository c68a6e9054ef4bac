"""Registry of platforms, in order of precedence."""

from lineage_merge.naming.athena import ATHENA
from lineage_merge.naming.azure import AZURE
from lineage_merge.naming.bigquery import BIGQUERY
from lineage_merge.naming.cassandra import CASSANDRA
from lineage_merge.naming.databricks import DATABRICKS, SPARK
from lineage_merge.naming.elasticsearch import ELASTICSEARCH
from lineage_merge.naming.gcs import GCS
from lineage_merge.naming.glue import GLUE
from lineage_merge.naming.hadoop import DBFS, HDFS
from lineage_merge.naming.hive import HIVE, SPARK_CATALOG
from lineage_merge.naming.kafka import KAFKA
from lineage_merge.naming.local import LOCAL
from lineage_merge.naming.mongodb import MONGODB
from lineage_merge.naming.mysql import MYSQL
from lineage_merge.naming.named import Platform
from lineage_merge.naming.oracle import ORACLE
from lineage_merge.naming.other import OTHER
from lineage_merge.naming.postgres import POSTGRES
from lineage_merge.naming.redshift import REDSHIFT
from lineage_merge.naming.s3 import S3
from lineage_merge.naming.snowflake import SNOWFLAKE
from lineage_merge.naming.sqlserver import SQLSERVER
from lineage_merge.naming.trino import TRINO

PLATFORMS: tuple[Platform, ...] = (
    S3,
    GCS,
    AZURE,
    HDFS,
    DBFS,
    LOCAL,
    REDSHIFT,  # before PostgreSQL, whose driver reaches Redshift too
    POSTGRES,
    MYSQL,
    SQLSERVER,
    ORACLE,
    SNOWFLAKE,
    BIGQUERY,
    ATHENA,
    TRINO,
    DATABRICKS,
    SPARK,
    HIVE,
    SPARK_CATALOG,
    GLUE,
    CASSANDRA,
    ELASTICSEARCH,
    MONGODB,
    KAFKA,
    OTHER,  # claims all other addresses
)
