"""OpenLineage events from files, S3, Kafka, or `lineage-merge receive`.

The events of a run are combined (`runs.py`) and translated (`translator.py`); both are pure. `files.py` and
`reader.py` do the I/O.
"""
