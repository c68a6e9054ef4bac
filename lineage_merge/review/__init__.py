"""Review of changes of SQL files, dbt projects and Spark jobs: their effect on lineage. Without Spark.

Every review ends in `findings`: one type of finding, one severity; `review_formats` shows them. `clauses`
and `query_sources` make queries comparable, `comparison` compares them and columns for all reviews,
`consequences` asks the graph what depends on a finding. The comparisons are pure.

SQL files: `git` finds changed files and their earlier content, `sql_versions` builds a graph of each version,
`sql_changes` compares, `sql_review` adds readers in the graph; the commands `review` and `sql` print it.

dbt: `dbt_files` reads what a change concerns of two manifests, `dbt_targets` aligns those of two targets,
`dbt_versions` translates them, `dbt_changes` compares with the columns and texts of `dbt_queries`,
`assessment` puts a version into the merged graph and reviews.

Spark: `capture_review` compares what a job writes, of a captured plan or of the graph.
"""
