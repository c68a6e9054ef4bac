"""Owners and tags, added to those that users have set in DataHub."""

from datahub.emitter import mce_builder
from datahub.metadata.schema_classes import OwnerClass, TagAssociationClass
from datahub.specific.dashboard import DashboardPatchBuilder
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder

from lineage_merge.exporters.datahub.names import Names
from lineage_merge.graph_format.elements import Vertex


def add_owners_and_tags(
    names: Names, patch: DatasetPatchBuilder | DashboardPatchBuilder | DataJobPatchBuilder, vertex: Vertex
) -> None:
    """Add the owners and tags of a vertex to a patch of its entity."""
    for owner in vertex.properties.get("owners", ()):
        patch.add_owner(OwnerClass(owner=names.owner(owner), type=names.owner_type))
    for tag in vertex.properties.get("tags", ()):
        patch.add_tag(tag_of(tag))


def tag_of(name: str) -> TagAssociationClass:
    """Return DataHub's reference to a tag."""
    return TagAssociationClass(mce_builder.make_tag_urn(name))
