"""Expected DataHub metadata of TICKIT, derived by hand from the jobs' code and the dbt models."""

Pair = tuple[str, str]
Columns = tuple[str, str, str]

FLOW = "urn:li:dataFlow:(airflow,tickit_daily,dev)"


def s3(path: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:s3,{path},DEV)"


def table(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:redshift,dev.{name},DEV)"


def column(dataset: str, name: str) -> str:
    return f"urn:li:schemaField:({dataset},{name})"


def job(name: str) -> str:
    return f"urn:li:dataJob:({FLOW},{name})"


RAW_SALES, RAW_EVENT = s3("tickit-raw/sales"), s3("tickit-raw/event")
STAGED_SALES, STAGED_EVENT = s3("tickit-staging/sales"), s3("tickit-staging/event")
LAKE = s3("tickit-lake/sales_dl")
MART = table("tickit_marts.top_events_by_sales")
FACTS = table("tickit_marts.fct_sales")
PEOPLE = table("tickit_marts.dim_people")
SEED = table("tickit_ref.category_map")
SNAPSHOT = table("snapshots.users_snapshot")
PUBLIC = {name: table(f"public.{name}") for name in ("sales", "event", "date", "users")}
STG = {name: table(f"tickit_staging.stg_{name}") for name in ("sales", "event", "date", "users")}

SUBTYPES: dict[str, str] = {
    **dict.fromkeys((RAW_SALES, RAW_EVENT, STAGED_SALES, STAGED_EVENT, LAKE), "File"),
    **dict.fromkeys((*PUBLIC.values(), MART, FACTS, PEOPLE), "Table"),
    **dict.fromkeys(STG.values(), "View"),
    SEED: "Seed",
    SNAPSHOT: "Snapshot",
}

# What reads and writes what: (inputs, outputs) of each job.
MOVES: dict[str, tuple[set[str], set[str]]] = {
    job("spark.tickit_sales_ingest"): (
        {RAW_SALES, RAW_EVENT, STAGED_SALES, STAGED_EVENT},
        {STAGED_SALES, STAGED_EVENT, LAKE},
    ),
    job("spark.tickit_sales_load"): ({LAKE, STAGED_EVENT}, {PUBLIC["sales"], PUBLIC["event"]}),
    **{job(f"dbt.model.tickit.stg_{name}"): ({PUBLIC[name]}, {STG[name]}) for name in STG},
    job("dbt.model.tickit.fct_sales"): ({STG["sales"], STG["event"], STG["date"]}, {FACTS}),
    job("dbt.model.tickit.top_events_by_sales"): ({STG["sales"], STG["event"], STG["date"], SEED}, {MART}),
    job("dbt.model.tickit.people"): ({STG["users"], FACTS}, {PEOPLE}),
    job("dbt.snapshot.tickit.users_snapshot"): ({STG["users"]}, {SNAPSHOT}),
    job("dbt.seed.tickit.category_map"): (set(), {SEED}),
}

# (upstream, dataset): not the product of inputs and outputs where a job writes several.
UPSTREAMS: set[Pair] = {
    (RAW_SALES, STAGED_SALES),
    (RAW_EVENT, STAGED_EVENT),
    (STAGED_SALES, LAKE),
    (STAGED_EVENT, LAKE),
    (LAKE, PUBLIC["sales"]),
    (STAGED_EVENT, PUBLIC["event"]),
    *((PUBLIC[name], STG[name]) for name in STG),
    *((STG[name], FACTS) for name in ("sales", "event", "date")),
    *((STG[name], MART) for name in ("sales", "event", "date")),
    (SEED, MART),
    (STG["users"], PEOPLE),
    (FACTS, PEOPLE),
    (STG["users"], SNAPSHOT),
}

# (upstream column, column, how) of two datasets.
_COPIED_COLUMNS = "salesid eventid sellerid buyerid qtysold pricepaid commission saledate"
COLUMNS: set[Columns] = {
    *((column(STAGED_SALES, name), column(LAKE, name), "IDENTITY") for name in _COPIED_COLUMNS.split()),
    (column(STAGED_EVENT, "eventname"), column(LAKE, "eventname"), "IDENTITY"),
    *(
        (column(STAGED_SALES, name), column(LAKE, "net"), "TRANSFORMATION: pricepaid - commission")
        for name in ("pricepaid", "commission")
    ),
    (column(STG["sales"], "eventid"), column(MART, "eventid"), "IDENTITY"),
    (column(STG["event"], "eventname"), column(MART, "eventname"), "IDENTITY"),
    (column(SEED, "category_group"), column(MART, "category_group"), "IDENTITY"),
    (column(STG["sales"], "pricepaid"), column(MART, "total_sales"), "AGGREGATION: sum(pricepaid)"),
    (column(STG["sales"], "qtysold"), column(MART, "total_qty"), "AGGREGATION: sum(qtysold)"),
    (
        column(STG["sales"], "pricepaid"),
        column(MART, "rnk"),
        "WINDOW: row_number() OVER (ORDER BY sum(pricepaid) DESC)",
    ),
}

DASHBOARD = "urn:li:dashboard:(dbt,exposure.tickit.sales_dashboard)"
SHOWN_BY_DASHBOARD = {MART, FACTS}
TAGS = {(each, "urn:li:tag:mart") for each in (MART, FACTS, PEOPLE)}
