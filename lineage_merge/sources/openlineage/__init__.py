"""OpenLineage events from files, S3, Kafka, or `lineage-merge receive`.

`files.py` reads events, `subjects.py` groups them, `reader.py` selects runs and makes records, with what
`related_runs.py` knows of other runs and what `notices.py` reports. The events of a run are combined
(`runs.py`) and translated (`translator.py`); both are pure.
"""
