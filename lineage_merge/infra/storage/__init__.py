"""File access: local folders, and S3 through boto3.

The pipeline reads S3 with boto3, not with Hadoop's connector, so that it does not depend on the cluster and
works on a laptop. The AWS chain provides credentials, region and, for other S3 servers, the address
(``AWS_ENDPOINT_URL_S3``).
"""

from lineage_merge.infra.storage.access import map_locations, open_stream
from lineage_merge.infra.storage.lines import (
    MAX_LINE_BYTES,
    read_line_blocks,
    read_lines,
)
from lineage_merge.infra.storage.listing import (
    children,
    children_of,
    find_files,
    list_files,
    size_of,
    subfolders,
)
from lineage_merge.infra.storage.locations import Slice, StoredFile, is_s3, redact_location
from lineage_merge.infra.storage.reading import (
    MAX_UNPACKED_BYTES,
    open_ranges,
    read_beginning,
    read_bytes,
    read_text,
    read_texts,
)
from lineage_merge.infra.storage.writing import (
    copy_file,
    create_file,
    delete_file,
    delete_folder,
    fetch_folder,
    make_folder,
    move_into_place,
    replace_folder,
    sync_folder,
    write_file,
    write_new_texts,
    write_text,
)

__all__ = [
    "MAX_LINE_BYTES",
    "MAX_UNPACKED_BYTES",
    "Slice",
    "StoredFile",
    "children",
    "children_of",
    "copy_file",
    "create_file",
    "delete_file",
    "delete_folder",
    "fetch_folder",
    "find_files",
    "is_s3",
    "list_files",
    "make_folder",
    "map_locations",
    "move_into_place",
    "open_ranges",
    "open_stream",
    "read_beginning",
    "read_bytes",
    "read_line_blocks",
    "read_lines",
    "read_text",
    "read_texts",
    "redact_location",
    "replace_folder",
    "size_of",
    "subfolders",
    "sync_folder",
    "write_file",
    "write_new_texts",
    "write_text",
]
