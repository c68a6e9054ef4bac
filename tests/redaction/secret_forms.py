"""Addresses and texts that hold a secret, in the forms in which people write them down."""

from collections.abc import Iterator
from functools import cache
from urllib.parse import quote

from tests import drawing
from tests.redaction.jdbc_forms import UNKNOWN_DRIVERS

SECRET = "Hunter2Zq9"

# The driver's words and the host part of JDBC URLs with an authority.
_JDBC = (
    "jdbc:redshift",
    "jdbc:redshift:iam",
    "jdbc:postgresql",
    "jdbc:mysql",
    "jdbc:mysql:loadbalance",
    "jdbc:mariadb",
    "jdbc:sqlserver",
    "jdbc:jtds:sqlserver",
    "jdbc:snowflake",
    "jdbc:trino",
    "jdbc:presto",
    "jdbc:hive2",
    "jdbc:impala",
    "jdbc:db2",
    "jdbc:vertica",
    "jdbc:teradata",
    "jdbc:clickhouse",
    "jdbc:databricks",
    "jdbc:sap",
    "jdbc:exa",
    "jdbc:log4jdbc:mysql",
    "jdbc:p6spy:postgresql",
    "jdbc:aws-wrapper:postgresql",
    "jdbc-secretsmanager:mysql",
    "JDBC:PostgreSQL",
)
_OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "S3A", "wasbs", "abfss", "hdfs", "ftp", "sftp", "oss", "cos")
_SERVERS = (
    "kafka", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps", "http", "https", "elasticsearch",
    "cassandra", "postgresql", "postgresql+psycopg2", "mysql+pymysql", "redshift", "snowflake", "bigquery",
    "oracle+oracledb", "neo4j+s", "bolt", "ldap", "smtp", "git+ssh", "clickhouse+native",
)  # fmt: skip
_POSITIONAL = (
    "jdbc:oracle:thin:u/{}@h:1521:X",
    "jdbc:oracle:thin:u/{}@//h:1521/x",
    "jdbc:oracle:thin:u/{}@(DESCRIPTION=(ADDRESS=(HOST=h)(PORT=1521))(CONNECT_DATA=(SID=x)))",
    "jdbc:oracle:oci:u/{}@tns",
    "jdbc:oracle:oci8:u/{}@tns",
    "jdbc:oracle:thin:u/{}",
    "jdbc:edb:thin:u/{}@h",
    "jdbc:tibero:thin:u/{}@h",
    "jdbc:firebirdsql:u/{}@h",
    "jdbc:log4jdbc:oracle:thin:u/{}@h:1521:x",
    "jdbc:p6spy:oracle:thin:u/{}@h:1521:x",
    "jdbc-secretsmanager:oracle:thin:u/{}@h",
    "jdbc-secretsmanager:oracle:thin:u/{}@h:1521/x",
    "JDBC:ORACLE:THIN:U/{}@H:1521:X",
    "jdbc:phoenix:h:2181:/hbase:u:{}",
    "jdbc:phoenix:h1,h2,h3:2181:/hbase-secure:u@REALM:{}",
    "jdbc:phoenix:h:2181:u:{}",
    "jdbc:custom:u:{}@h",
    "jdbc:custom:u:{}@h:1234/db",
    "oracle:thin:u/{}@h",
    "kafka:u:{}@h",
    "kafka:u:{}@h:9092",
    "amqp:u:{}@h",
    "u:{}@h:5432/db",
    "u:{}@tcp(h:3306)/db",
    "scott/{}@h:1521/x",
)
_KEYS = (
    "password", "Password", "PASSWORD", "passwd", "pwd", "PWD", "pass", "secret", "clientSecret",
    "client_secret",
    "token", "access_token", "accessToken", "refresh_token", "auth_token", "api_key", "apikey", "AccessKey",
    "SecretKey", "secretAccessKey", "AWS_SECRET_ACCESS_KEY", "private_key", "privateKey", "private_key_pwd",
    "private_key_file_pwd", "private_key_base64", "private_key_pem", "passcode", "sig", "Signature",
    "X-Amz-Signature", "X-Amz-Security-Token",
    "X-Amz-Credential", "X-Goog-Signature", "OAuthClientSecret", "OAuthAccessToken", "trustStorePassword",
    "sslpassword", "javax.net.ssl.keyStorePassword", "fs.s3a.secret.key", "jwt", "credentials",
)  # fmt: skip
_LISTS = (
    "AccountKey={}",
    "SharedAccessKey={}",
    "SharedAccessSignature={}",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net",
    "Endpoint=sb://h.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey={}",
    "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey={};EntityPath=topic",
    "Server=h;Database=d;User Id=u;Password={}",
    "Server=tcp:h,1433;Password={};User ID=u",
    "Driver={{ODBC Driver 17}};Server=h;UID=u;PWD={{{}}}",
    '{{"u":"jdbc:mysql://h/d?user=u\\u0026password\\u003d{}"}}',
    '{{"u":"jdbc:sqlserver://h;user=u\\u003bpassword\\u003D{};x=y"}}',
    '{{"u":"jdbc:mysql://h/d?password\\u003da\\u0022{}"}}',
    '{{"u":"{{\\"v\\":\\"jdbc:mysql://h/d?user=u\\\\u0026password\\\\u003d{}\\"}}"}}',
    '{{"u":"jdbc:exa:h:8563;user=u\\u003bpw\\u003d{}"}}',
    "snowflake://u@a?private_key_base64={}",
    "options (url = 'jdbc:postgresql://h/d', password = '{}')",
    "options (url = 'jdbc:postgresql://h/d', token = '{}')",
    "host=h port=5432 user=u password={} dbname=d",
    "jdbc:mysql://(host=h,user=u,password={})/d",
    "jdbc:mysql://address=(host=h)(user=u)(password={})/d",
    "jdbc:teradata://h/USER=u,PASSWORD={}",
    "jdbc:db2://h:50000/d:user=u;password={};",
    "jdbc:informix-sqli://h:1526/d:INFORMIXSERVER=i;user=u;password={}",
    "jdbc:phoenix:thin:url=http://h:8765;authentication=BASIC;avatica_user=u;avatica_password={}",
    "jdbc:sqlserver://h;user=u;password={{{}}};databaseName=d",
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{}";',
    "u ?password={}",
    "https://h/cb#access_token={}",
    "https://h/cb#state=x&access_token={}&token_type=bearer",
    "password => '{}'",
    '"password": "{}"',
    "{{'password': '{}', 'user': 'u'}}",
    '{{\\"password\\": \\"{}\\"}}',
    "password: {}",
    "--password {}",
    "spark-submit --conf spark.db.password={} app.py",
    "Authorization: Bearer {}",
    "Authorization: Basic {}",
    "authorization=Bearer {}",
    "Bearer {}",
    "curl -H 'X-Api-Key: {}' https://h",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----{}",
    "aes_encrypt(a, '{}')",
    "AES_DECRYPT(a, unhex('{}'), 'GCM')",
    "hmac(a, '{}', 'sha256')",
    "pgp_sym_decrypt(a, '{}')",
    "des_encrypt(a, '{}')",
    "aes_encrypt(cast(a as binary), cast({} as binary), GCM, DEFAULT, , )",
)
_NESTED = (
    "delta:s3a://k:{}@b",
    "iceberg:https://u:{}@h",
    "hudi:s3://k:{}@b/x",
    "elasticsearch://https://u:{}@h/i",
    "jdbc:bigquery://https://u:{}@h:443;ProjectId=p",
    "s3a://AKIAIOSFODNN7EXAMPLE:{}@b/x",
    "s3a://AKIAIOSFODNN7EXAMPLE:12/{}@b/x",
    "s3a://k:a/{}@b/x",
    "s3://///k:{}@b/x",
    "s3a://k:a+{}/b@b/x",
    "mongodb://u:{}@h1:27017,h2:27018/d.c?replicaSet=r",
    "https://u%3A{}@h/x",
    "https://:{}@h/x",
    "https://u:a%40{}@h/x",
    "https://u:a@{}@h/x",
)
SAS = "wasbs://c@a.blob.core.windows.net/x?sv=2022-11-02&sr=c&sig={}&se=2030"


def _templates() -> Iterator[str]:
    for driver in _JDBC:
        yield driver + "://u:{}@h:1234/d"
        yield driver + "://h:1234/d?user=u&password={}"
        yield driver + "://h:1234/d;user=u;password={};x=y"
    yield from (f"{scheme}://k:{{}}@b/x" for scheme in _OBJECT_STORES)
    yield from (f"{scheme}://u:{{}}@h/x" for scheme in _SERVERS)
    yield from _POSITIONAL
    yield from (f"https://h/x?a=b&{key}={{}}&c=d" for key in _KEYS)
    yield from (f"jdbc:postgresql://h/d?{key}={{}}" for key in _KEYS)
    yield from (f"Server=h;{key}={{}};Database=d" for key in _KEYS)
    yield from _LISTS
    yield from _NESTED
    yield from UNKNOWN_DRIVERS
    yield SAS


def _encoded(template: str) -> Iterator[str]:
    """The same, percent-encoded once and twice, whole or in its separators alone."""
    for keep in ("{}", "{}/"):
        once = quote(template, safe=keep)
        yield once
        yield quote(once, safe=keep)


@cache
def forms(secret: str = SECRET) -> tuple[str, ...]:
    """All the forms, each once, with a secret in it."""
    templates = list(_templates())
    found = [*templates]
    found += [f" {template}" for template in templates[::7]]
    for template in ("password={}", *_POSITIONAL[:2], *_NESTED[:4], "https://u:{}@h/x?a=b", SAS):
        found += _encoded(template)
    return tuple(dict.fromkeys(template.format(secret) for template in found))


@cache
def some_forms() -> tuple[str, ...]:
    """Forms of all kinds, for tests of many places at once: every fourth, and all where all are drawn."""
    return forms() if drawing.share() == 1 else forms()[::4]


def leaks(text: str, secret: str = SECRET) -> bool:
    """Whether a text holds the secret, in whichever case or encoding."""
    return secret.lower() in text.lower()
