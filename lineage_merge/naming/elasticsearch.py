"""Elasticsearch: ``elasticsearch://host:9200`` and the index, with its type where one is given.

OpenLineage's specification has no entry for it; this follows its pattern.
"""

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, parse, without_parameters
from lineage_merge.naming.named import Defaults, Located, Named

_PORT = 9200


class Elasticsearch:
    def claims(self, address: Address) -> bool:
        return address.scheme in {"elasticsearch", "es"}

    def canonical_namespace(self, address: Address) -> str:
        hosts = canonical_hosts(_server(address).authority or "", _PORT)
        return f"elasticsearch://{hosts}" if hosts else "elasticsearch"

    def locate(self, address: Address) -> Located:
        return Located(self.canonical_namespace(address), without_parameters(_server(address).rest))

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        index = "/".join(part for part in name.split("/") if part)
        if not index:
            raise NamingError(f"{redact(namespace)}: names no index")
        short_name = index.split("/")[0]
        return Named(
            DatasetName(namespace, index), label="table", stored_as_files=False, short_name=short_name
        )


def _server(address: Address) -> Address:
    """The option `es.nodes` may hold a URL: ``elasticsearch://https://host:9200/index``."""
    if (address.authority or "").lower() in {"http:", "https:"}:
        return parse("elasticsearch:" + address.rest)
    return address


ELASTICSEARCH = Elasticsearch()
