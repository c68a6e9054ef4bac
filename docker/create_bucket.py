"""Create the bucket of docker-compose.yml's S3 server, and put the sample manifest into it.

    python create_bucket.py BUCKET FILE KEY

The address and the keys come from boto3's usual variables.
"""

import sys
from pathlib import Path

import boto3


def main(bucket: str, file: str, key: str) -> None:
    """Make the bucket (a second time does nothing) and write `file` as `key`."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=Path(file).read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
