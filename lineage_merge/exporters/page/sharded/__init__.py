"""The page of any size: a folder with `index.html` and shards, which views load when they need them.

A shard is a script that hands JSON to the page (`lineage.shards.receive`), because browsers fetch no files.
Datasets have numbers. These are the kinds of shards, all lists of rows:

::

    data    as `lineage_merge.exporters.page.data`, of consecutive datasets with the edges into them; datasets
            are numbers; each has `sides`, how many datasets feed it and how many it feeds; a job that writes
            several datasets has `written`, their number; `topics` of these datasets
    walk    [[...], [...]] of each dataset: what it is made from and what is made from it, relative to it
    id      [checksum, number] of each dataset whose checksum (CRC-32) of the id, modulo the number of shards,
            is the number of the shard
    search  names by the beginnings of their words: [number, name, title, kind, environment] of a dataset,
            [name, count, [[number, title, kind, environment]]] of a column, with its first datasets,
            [name, "job", [number, title, kind, environment], count] of a job, with the first that it writes,
            [name, "tag" or "owner", first, count]; `first`: of `mark`
    word    datasets by the words of their descriptions and aliases: [number, name, title, kind, environment,
            words]
    group   [namespace, name, first, count, marks]: schemas, buckets and folders, by band; `first`: of `name`
    name    [name, title, number, kind, environment, marks] of each dataset, by group
    mark    the same, by mark, tag and owner

`marks` are positions in the list of marks: what is red or worth a look. Those of many datasets, such as end
points, are only lists.
"""

from lineage_merge.exporters.page.sharded.writing import Annotations, Scope, write_sharded

__all__ = ["Annotations", "Scope", "write_sharded"]
