"""What the captured jobs did, written down by hand from their code, as sets of tuples.

Names are short here (`namespace|name` without the environment); `ids` makes ids of them.
Sources: `tickit_sales_*` and `seed_queries` are described in tests/data/README.md; the
queries of `tpch` are those of the TPC-H specification, chapter 2.4, so which tables each
reads is common knowledge (subqueries included).
"""

Edge = tuple[str, str, str]

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def ids(edges: set[Edge], environment: str) -> set[Edge]:
    """The edges with the environment before each end."""
    return {(f"{environment}|{start}", label, f"{environment}|{end}") for start, label, end in edges}


def _wh(table: str) -> str:
    return f"{WAREHOUSE}|dev.{table}"


def _flows(job: str, flows: dict[str, tuple[str, ...]]) -> set[Edge]:
    """`feeds` from each source to each target, and `writes` from the job to each target."""
    edges: set[Edge] = set()
    for target, sources in flows.items():
        edges.add((job, "writes", target))
        edges.update((source, "feeds", target) for source in sources)
    return edges


def tickit_sales_ingest(dag: str) -> set[Edge]:
    """Raw files to staging, twice, then both joined into the lake."""
    return _flows(
        f"{dag}|spark|tickit_sales_ingest",
        {
            "s3://tickit-staging|sales": ("s3://tickit-raw|sales",),
            "s3://tickit-staging|event": ("s3://tickit-raw|event",),
            "s3://tickit-lake|sales_dl": ("s3://tickit-staging|sales", "s3://tickit-staging|event"),
        },
    )


def tickit_sales_load(dag: str) -> set[Edge]:
    """The lake into Redshift through a temporary directory, the events over JDBC."""
    return _flows(
        f"{dag}|spark|tickit_sales_load",
        {
            _wh("public.sales"): ("s3://tickit-lake|sales_dl",),
            _wh("public.event"): ("s3://tickit-staging|event",),
        },
    )


def tickit_sales_load_alone(dag: str) -> set[Edge]:
    """The same without a warehouse in the configuration: the temporary directory stays a path."""
    temporary = "s3://aws-glue-assets-111122223333-us-east-1|temporary/redshift/public.sales"
    return _flows(
        f"{dag}|spark|tickit_sales_load",
        {
            temporary: ("s3://tickit-lake|sales_dl",),
            _wh("public.event"): ("s3://tickit-staging|event",),
        },
    )


def seed_queries(dag: str) -> set[Edge]:
    """Hive tables filled from constants, through a temporary view, and through a Python UDF."""
    warehouse = "file|/user/hive/warehouse"
    return _flows(
        f"{dag}|spark|seed_queries",
        {
            f"{warehouse}/bigdata.db/tdl_spark_test": (),
            f"{warehouse}/bigdata.db/tdl_file_test": (f"{warehouse}/bigdata.db/tdl_spark_test",),
            "file|/data/ushas": (),
            f"{warehouse}/dm_ai.db/dws_kdt_comment_rank_base": (),
            f"{warehouse}/dm_ai.db/dws_kdt_comment_ranks_info": (
                f"{warehouse}/dm_ai.db/dws_kdt_comment_rank_base",
            ),
        },
    )


TPCH_TABLES = {
    "q01": "lineitem",
    "q02": "part supplier partsupp nation region",
    "q03": "customer orders lineitem",
    "q04": "orders lineitem",
    "q05": "customer orders lineitem supplier nation region",
    "q06": "lineitem",
    "q07": "supplier lineitem orders customer nation",
    "q08": "part supplier lineitem orders customer nation region",
    "q09": "part supplier lineitem partsupp orders nation",
    "q10": "customer orders lineitem nation",
    "q11": "partsupp supplier nation",
    "q12": "orders lineitem",
    "q13": "customer orders",
    "q14": "lineitem part",
    "q15": "lineitem supplier",
    "q16": "partsupp part supplier",
    "q17": "lineitem part",
    "q18": "customer orders lineitem",
    "q19": "lineitem part",
    "q20": "supplier nation partsupp part lineitem",
    "q21": "supplier lineitem orders nation",
    "q22": "customer orders",
}


def tpch(dag: str) -> set[Edge]:
    """The 22 queries of TPC-H, each written to a folder of its own."""
    return _flows(
        f"{dag}|spark|tpch_queries",
        {
            f"file|/data/tpch/{query}": tuple(
                f"file|/user/hive/warehouse/tpch.db/{table}" for table in tables.split()
            )
            for query, tables in TPCH_TABLES.items()
        },
    )


def dbt(dag: str) -> set[Edge]:
    """The dbt project: staging views, an ephemeral model between, marts, a snapshot, a dashboard."""
    built = {
        "model.tickit.stg_sales": ("tickit_staging.stg_sales", ("public.sales",)),
        "model.tickit.stg_event": ("tickit_staging.stg_event", ("public.event",)),
        "model.tickit.stg_date": ("tickit_staging.stg_date", ("public.date",)),
        "model.tickit.stg_users": ("tickit_staging.stg_users", ("public.users",)),
        # int_sales_enriched is ephemeral: what it reads feeds what reads it.
        "model.tickit.fct_sales": (
            "tickit_marts.fct_sales",
            ("tickit_staging.stg_sales", "tickit_staging.stg_event", "tickit_staging.stg_date"),
        ),
        "model.tickit.top_events_by_sales": (
            "tickit_marts.top_events_by_sales",
            (
                "tickit_staging.stg_sales",
                "tickit_staging.stg_event",
                "tickit_staging.stg_date",
                "tickit_ref.category_map",
            ),
        ),
        "model.tickit.people": (
            "tickit_marts.dim_people",
            ("tickit_staging.stg_users", "tickit_marts.fct_sales"),
        ),
        "snapshot.tickit.users_snapshot": ("snapshots.users_snapshot", ("tickit_staging.stg_users",)),
        "seed.tickit.category_map": ("tickit_ref.category_map", ()),
    }
    edges: set[Edge] = set()
    for job, (target, sources) in built.items():
        edges |= _flows(f"{dag}|dbt|{job}", {_wh(target): tuple(map(_wh, sources))})
    dashboard = "dbt://tickit|sales_dashboard"
    edges.add((_wh("tickit_marts.top_events_by_sales"), "feeds", dashboard))
    edges.add((_wh("tickit_marts.fct_sales"), "feeds", dashboard))
    return edges
