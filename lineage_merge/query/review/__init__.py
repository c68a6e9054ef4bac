"""Review of changes of SQL files and dbt projects: their effect on lineage, before a release. Without Spark.

SQL files: `git` finds changed files and their earlier content, `versions` builds a graph of each version,
`changes` compares them (pure), `readers` finds readers of dropped elements, `sql_findings` gives findings.

dbt: `dbt_versions` reads and translates manifests, `dbt_changes`, `column_changes` and `clauses` compare them
(pure), `replaced_graph` puts a version into the merged graph, `assessment` asks it for consequences.
"""
