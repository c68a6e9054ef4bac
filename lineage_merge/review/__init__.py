"""Review of changes of SQL files and dbt projects: their effect on lineage, before a release. Without Spark.

SQL files: `git` finds changed files and their earlier content, `versions` builds a graph of each version,
`changes` and `sql_clauses` compare (pure), `readers` finds readers of dropped elements, `sql_findings` gives
findings.

dbt: `dbt_files` reads what a change concerns of two manifests, `dbt_targets` aligns those of two targets,
`dbt_versions` translates them, `dbt_renames`, `dbt_changes`, `column_changes` and `clauses` compare (pure),
`dbt_uncompiled` says what cannot be, `replaced_graph` puts a version into the merged graph, `assessment` asks
it for consequences.

Spark: `captured_jobs` has what a job writes, of a captured plan or of the graph, `capture_review` compares.
"""
