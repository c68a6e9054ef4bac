"""Where rows are computed: in this process (`local`), or by Spark's executors (`on_spark`).

What a merge means is written once, as functions over rows and groups of rows. An engine only decides
where they run: a small input fits one process, a large one is distributed.
"""
