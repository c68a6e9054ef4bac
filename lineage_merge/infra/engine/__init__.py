"""Engines: rows are computed in this process (`local`), or by Spark's executors (`on_spark`).

The pipeline is written once, as functions of rows and groups of rows. The engine determines where they run: a
small input in one process, a large one distributed.
"""
