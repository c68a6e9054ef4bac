"""The version of this package."""

__version__ = "0.3.0"

# Begins the producer of the OpenLineage events that this package writes; a URN is not an address.
PRODUCER_URN = "urn:lineage-merge:"
