"""OpenLineage's events: from files, S3, Kafka, or what `lineage-merge receive` keeps.

Events of one run add up (`runs.py`); what is added up is translated (`translate.py`). Both are pure;
`files.py` and `read.py` read.
"""
