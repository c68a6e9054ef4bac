"""Google Cloud Storage: ``gs://bucket`` and the key."""

from lineage_merge.naming.filesystem import FileSystem

GCS = FileSystem(schemes={"gs": "gs"}, object_store=True)
