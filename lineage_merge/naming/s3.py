"""Amazon S3: ``s3://bucket`` and the key."""

from lineage_merge.naming.filesystem import FileSystem

S3 = FileSystem(schemes={"s3": "s3", "s3a": "s3", "s3n": "s3"}, object_store=True)
