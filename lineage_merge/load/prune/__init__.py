"""What of a DAG's lineage is gone, and taking it out of the graph.

Nothing goes because it is not there this time. A dbt manifest is complete for its project, and so is a
folder of SQL: what it dropped goes at once. A target of a job that runs goes when enough later good
runs of the job did not write it; of a target that is written, the newest write says what feeds it. A
job that did not run keeps its lineage, and so does whatever the merge did not look at.

`scope` says what a merge may retire at all; `of_jobs` decides about the edges of each job, `of_datasets`
about each dataset, its columns and the vertices that nothing needs any more; `find` puts both together
and refuses what looks like a mistake; `take_out` takes it out.
"""
