"""Deletion of lineage that a DAG no longer has.

An element is not deleted only because it is missing from a merge. A dbt manifest and a folder of SQL files
are complete for their project: what they no longer contain is deleted at once. A target of a job that runs is
deleted when enough later successful runs of the job did not write it; of a target that is written, the newest
write determines its inputs. A job that did not run keeps its lineage, and so does everything that the merge
did not read.

`stale` decides what a merge may delete at all: edges per job, and per dataset its columns and vertices that
are no longer needed; `plan` refuses likely mistakes.
"""
