"""Review of changes of SQL files, dbt projects and Spark jobs: their effect on lineage. Without Spark.

Every review ends in `findings`: one type of finding, one severity. `clauses` and `clause_comparison` compare
conditions, joins and groupings for all of them, `column_comparison` columns; `consequences` asks the graph
what depends on a finding. These comparisons are pure.

SQL files: `git` finds changed files and their earlier content, `sql_versions` builds a graph of each version,
`sql_changes` compares, `sql_review` adds readers in the graph; the commands `review` and `sql` print it.

dbt: `dbt_files` reads what a change concerns of two manifests, `dbt_targets` aligns those of two targets,
`dbt_versions` translates them, `dbt_renames`, `dbt_changes` and `column_changes` compare, `dbt_uncompiled`
says what cannot be compared, `replaced_graph` puts a version into the merged graph, `assessment` reviews.

Spark: `captured_jobs` has what a job writes, of a captured plan or of the graph, `capture_review` compares.
"""
