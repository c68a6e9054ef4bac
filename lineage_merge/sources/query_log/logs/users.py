"""Users of logged statements: what of them leaves the reader. Pure but for the salt's variable or secret."""

import hmac
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements.statement import LoggedStatement

OTHER = "other"
_DIGITS = 12


@dataclass(slots=True)
class Users:
    """Replaces the names of users.

    A statement keeps a pseudonym of its user, by a key of this merge only, which shows whose schema ``$user``
    is; its reader is what the configuration asks for: the hash by `salt`, the group, or nothing.
    """

    key: bytes
    salt: bytes = b""
    groups: tuple[tuple[str, str], ...] = ()
    _known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def replace(self, statement: LoggedStatement) -> LoggedStatement:
        """Return a statement without the name of its user."""
        user, reader = self.names(statement.user)
        return statement._replace(user=user, reader=reader)

    def names(self, user: str) -> tuple[str, str]:
        """Return the pseudonym of a user, and the name of the reader."""
        names = self._known.get(user)
        if names is None:
            names = self._known[user] = (self._pseudonym(user), self._reader(user)) if user else ("", "")
        return names

    def schemas(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return the schemas that are named after users, by pseudonym."""
        return {self._pseudonym(name): name for name in names if name}

    def _pseudonym(self, user: str) -> str:
        return _digest(self.key, user)

    def _reader(self, user: str) -> str:
        if self.salt:
            return _digest(self.salt, user)
        if self.groups:
            return next((group for pattern, group in self.groups if fnmatchcase(user, pattern)), OTHER)
        return ""


def users_of(log: QueryLog, key: str) -> Users:
    """Return the names of the users of a log; `key` is that of the log in the configuration.

    Raises `ConfigError` without the salt, `SourceError` if its secret cannot be read.
    """
    salt = _salt(log, key) if log.users == "hashed" else b""
    return Users(secrets.token_bytes(16), salt, log.user_groups if log.users == "groups" else ())


def _salt(log: QueryLog, key: str) -> bytes:
    if log.user_salt_secret:
        from lineage_merge.infra.aws import secret

        setting, salt = f"{key}.user_salt_secret", secret(log.user_salt_secret, f"{key}.user_salt_secret")
    else:
        setting, salt = f"{key}.user_salt_env", os.environ.get(log.user_salt_env, "")
    if not salt:
        # Without the variable's name: it may be the salt itself by mistake.
        raise ConfigError(setting, "there is no salt: set the variable of this name, or the secret's text")
    return salt.encode()


def _digest(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(errors="surrogatepass"), "sha256").hex()[:_DIGITS]
