"use strict";
// Where a dataset is: its platform, and its bucket, schema or folder (pure).
lineage.places = (() => {
  const PLATFORMS = {
    s3: "S3",
    gs: "Google Cloud Storage",
    abfs: "Azure storage",
    abfss: "Azure storage",
    wasb: "Azure storage",
    wasbs: "Azure storage",
    hdfs: "HDFS",
    file: "file system",
    redshift: "Redshift",
    snowflake: "Snowflake",
    postgres: "PostgreSQL",
    postgresql: "PostgreSQL",
    mysql: "MySQL",
    mssql: "SQL Server",
    sqlserver: "SQL Server",
    oracle: "Oracle",
    bigquery: "BigQuery",
    hive: "Hive",
    kafka: "Kafka",
    trino: "Trino",
    duckdb: "DuckDB",
    superset: "Superset",
    mongodb: "MongoDB",
    awsathena: "Athena",
    dbt: "dbt",
  };
  const BUCKETS = new Set(["s3", "gs", "abfs", "abfss", "wasb", "wasbs"]);
  const TABLE_FORMATS = { hive: "Hive", iceberg: "Iceberg", delta: "Delta" };
  const LONGEST = 24;
  // What dbt declares and no platform stores.
  const DECLARED = { exposure: "dashboards", semantic_model: "semantic models", metric: "metrics", saved_query: "saved queries" };
  const isDeclared = (kind) => Object.hasOwn(DECLARED, kind);
  // Of a dashboard that its tool describes, columns are visuals.
  const columnWord = (dataset) => (dataset.kind === "exposure" ? "visual" : "column");
  const kindWord = (kind) => kind.replace("_", " ");

  const fact = (facts, name) => facts.find(([what]) => what === name)?.[1] ?? "";

  function platformOf(dataset, scheme) {
    if (dataset.namespace.startsWith("arn:aws:quicksight")) return "QuickSight";
    if (dataset.kind === "exposure") return PLATFORMS[scheme] && scheme !== "dbt" ? PLATFORMS[scheme] : "dbt exposure";
    if (isDeclared(dataset.kind)) return "dbt semantic layer";
    if (dataset.namespace.startsWith("arn:aws:glue")) return "Glue";
    const format = fact(dataset.facts, "format").toLowerCase();
    if (dataset.kind !== "file" && (BUCKETS.has(scheme) || scheme === "file" || scheme === "hdfs")) {
      return TABLE_FORMATS[format] ?? "Hive";
    }
    return PLATFORMS[scheme] ?? (scheme || dataset.namespace);
  }

  /** Shorten a long text in its middle; both ends are retained. */
  function shortened(text, longest = LONGEST) {
    const letters = [...text];
    if (letters.length <= longest) return text;
    const end = Math.floor((longest - 1) * 0.4);
    return `${letters.slice(0, longest - 1 - end).join("")}…${letters.slice(letters.length - end).join("")}`;
  }

  /**
   * Return the place of a dataset. `key` identifies it within an environment, `name` is what is shown.
   * @param {{kind: string, namespace: string, path: string, title: string, facts: string[][]}} dataset
   * @returns {{key: string, name: string, platform: string}}
   */
  function placeOf(dataset) {
    const { namespace, path, title } = dataset;
    const [, scheme = namespace] = namespace.match(/^([a-z0-9+.-]+):\/\//i) ?? [];
    const platform = platformOf(dataset, scheme);
    if (isDeclared(dataset.kind)) return { key: `${namespace}\n${dataset.kind}s`, name: DECLARED[dataset.kind], platform };
    const isNamed = dataset.kind !== "file" && !title.includes("/") && title.includes(".");
    if (isNamed) {
      const parts = title.split(".").slice(0, -1);
      return { key: `${namespace}\n${parts.join(".")}`, name: parts.at(-1), platform };
    }
    const folders = path.split("/").filter((part) => part).slice(0, -1);
    const bucket = BUCKETS.has(scheme) ? namespace.slice(scheme.length + 3) : "";
    const where = [...(bucket ? [bucket] : []), ...folders];
    const name = bucket || scheme !== "file" ? where.join("/") || namespace : `/${where.join("/")}`;
    return { key: `${namespace}\n${folders.join("/")}`, name, platform };
  }

  return { placeOf, shortened, isDeclared, kindWord, columnWord };
})();
