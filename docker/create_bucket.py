"""Create the bucket of docker-compose.yml's S3 server and upload the sample manifest.

    python create_bucket.py BUCKET FILE KEY

The address and the keys are read from boto3's environment variables.
"""

import sys
from pathlib import Path

import boto3


def main(bucket: str, file: str, key: str) -> None:
    """Create the bucket, if it does not exist, and write `file` as `key`."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=Path(file).read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
