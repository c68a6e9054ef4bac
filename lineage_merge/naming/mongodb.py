"""MongoDB: ``mongodb://host:27017`` and ``database.collection``.

Spline writes the connection string, a slash, and the name:
``mongodb://host:27017/admin?replicaSet=rs0/shop.orders``. OpenLineage's specification has
no entry for it; this follows its pattern. The name after ``mongodb+srv://`` is looked up
in DNS and has no port.
"""

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts
from lineage_merge.naming.named import Defaults, Located, Named

_PORTS = {"mongodb": 27017, "mongodb+srv": None}


class MongoDB:
    def claims(self, address: Address) -> bool:
        return address.scheme in _PORTS

    def canonical_namespace(self, address: Address) -> str:
        hosts = canonical_hosts(address.authority or "", _PORTS[address.scheme])
        return f"{address.scheme}://{hosts}" if hosts else address.scheme

    def locate(self, address: Address) -> Located:
        name = address.rest.rpartition("/")[2]
        if "?" in name or "=" in name or "." not in name:
            raise NamingError(f"{redact(address.text)}: names no collection")
        return Located(self.canonical_namespace(address), name)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if not name:
            raise NamingError(f"{redact(namespace)}: names no collection")
        database = defaults.get(namespace, "").partition(".")[0]
        if "." not in name and database:
            name = f"{database}.{name}"
        # A collection's name may have dots, a database's may not.
        short_name = name.partition(".")[2] or name
        return Named(
            DatasetName(namespace, name), label="table", stored_as_files=False, short_name=short_name
        )


MONGODB = MongoDB()
