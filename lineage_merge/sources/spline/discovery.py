"""How `init` finds exports of Spline's database, and configures the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lineage_merge.infra.batches import gather
from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    Prompt,
    Sample,
    SourceDiscovery,
    SourceInput,
    file_name,
    files_option,
    folder_of,
    is_below,
    parent,
)
from lineage_merge.sources.spline.settings import Spline

_MAX_NOTES = 5
_LOGIN = ("database", "username", "password_env")


class SplineDiscovery(SourceDiscovery):
    """Files of the agent are only used without an export: they are of the same runs."""

    options = (
        InitOption(
            "--spline-export",
            "export",
            "folder of an export of Spline's database",
            "Spline export",
            is_rare=False,
        ),
        InitOption("--spline-arango", "arango", "address of Spline's ArangoDB", metavar="URL", is_rare=False),
        InitOption("--spline-database", "database", "its database  [default: spline]", metavar="NAME"),
        InitOption("--spline-username", "username", "its user  [default: root]", metavar="NAME"),
        InitOption(
            "--spline-password-env",
            "password_env",
            "environment variable with its password",
            metavar="VAR",
        ),
        files_option("--spline-agent", "agent", "files of Spline's agent"),
    )
    line_key = "agent"
    job_word = "application"
    selected_by = "applications"
    has_version = True
    how_to_create = (
        "export Spline's database with arangoexport --type jsonl, one file per collection, into this folder"
    )

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first lines of a file contain messages of an agent. Raises `SourceError`."""
        from lineage_merge.sources.spline import inspection

        return inspection.first_message_is(file, of_listener=False)

    def version(self, settings: Spline) -> str:
        """Return the version of the database, several of several exports; "" for files of agents."""
        from lineage_merge.sources.spline import inspection

        return inspection.version(settings)

    def sample(self, settings: Spline) -> Sample | None:
        """Return jobs and datasets of a database, or of the first documents of an export."""
        from lineage_merge.sources.spline import inspection

        return inspection.sample(settings)

    def read_options(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named export, database or files of agents; only one of them can be read."""
        login = {name: given[name] for name in _LOGIN}
        if sum(bool(given[name]) for name in ("export", "arango", "agent")) > 1:
            raise ConfigError("", "give one of --spline-export, --spline-arango and --spline-agent")
        if given["arango"]:
            return _arango(given["arango"], **login)
        if any(login.values()):
            flags = "--spline-database, --spline-username and --spline-password-env"
            raise ConfigError("", f"{flags} need --spline-arango")
        return super().read_options(given)

    def ask(self, prompt: Prompt) -> SourceInput | None:
        """Ask for the database or an export."""
        location = prompt("Spline: URL of its ArangoDB, or folder of an export (empty: none)")
        if not location.lower().startswith(("http://", "https://")):
            return SourceInput("export", (location,)) if location else None
        return _arango(
            location,
            prompt("  database", "spline"),
            prompt("  user", "root"),
            prompt("  environment variable with the password (empty: no password)"),
        )

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the files of exported databases."""
        databases = _databases(files)
        return [file.location for file in files if folder_of(file.location) in databases]

    def search(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> Discovered:
        """Return an export, or else files of agents."""
        exported, notes = _export(sorted(_databases(files)))
        agent = self.find_in_lines(files, rest)
        if not exported:
            return Discovered(agent, tuple(notes))
        unused = agent.locations[:_MAX_NOTES] if agent else ()
        notes += [f"{location}: files of Spline's agent, not used" for location in unused]
        return Discovered(SourceInput("export", (exported,)), tuple(notes))

    def command(self, key: str, location: str) -> str:
        """Return the option; an export is a folder."""
        is_file = key == "export" and location.endswith((".json", ".jsonl", ".gz"))
        return super().command(key, parent(location) if is_file else location)

    def fix(self, error: SourceError) -> str:
        """Return the remedy for the database."""
        match error:
            case SourceUnreachable():
                advice = "allow access to its port, or give an export with --spline-export"
                return f"correct --spline-arango, {advice}"
            case SourceDenied():
                return "give --spline-username, and --spline-password-env with the variable of the password"
            case SourceMissing():
                return "give the name of Spline's database with --spline-database"
        return "check the log of the ArangoDB server"


def _arango(url: str, database: str, username: str, password_env: str) -> SourceInput:
    """Return the database as input, without the settings that have their default."""
    login = {"username": username, "password_env": password_env}
    settings = {"hosts": url.rstrip("/"), "database": database or "spline"}
    return SourceInput("arango", settings=settings | {name: value for name, value in login.items() if value})


def _databases(files: Iterable[StoredFile]) -> set[str]:
    """Return the folders with a file of plans."""
    return {
        folder_of(file.location)
        for file in files
        if file_name(file.location).startswith(("executionPlan.", "executionPlan_"))
    }


def _export(folders: Sequence[str]) -> tuple[str, list[str]]:
    """Return the folder of the exported databases, and notes about databases that are not below it.

    Databases in one folder are one export. Of several such folders it is the one with most databases, the
    last by name if several have as many: names are often dates.
    """
    from lineage_merge.sources.spline import export

    by_parent = gather((folder_of(folder), folder) for folder in folders)
    ordered = sorted(by_parent, key=lambda parent: (len(by_parent[parent]), parent), reverse=True)
    candidates = [parent for parent in ordered if len(by_parent[parent]) > 1]
    for candidate in (*candidates, *sorted(folders, reverse=True)):
        try:
            export.find(candidate)
        except SourceError:
            continue
        others = [folder for folder in folders if not is_below(folder, candidate)]
        notes = [f"{other}: another export of Spline, not used" for other in others[:_MAX_NOTES]]
        if len(others) > _MAX_NOTES:
            notes.append(f"{len(others) - _MAX_NOTES} more exports of Spline, not used")
        return candidate, notes
    return "", [f"{folder}: an incomplete export of Spline, not used" for folder in folders[:_MAX_NOTES]]


class CaptureDiscovery(SourceDiscovery):
    """Files whose first message is one of the listener."""

    options = (files_option("--capture", "files", "files of capture.install"),)
    line_key = "files"
    job_word = "application"
    selected_by = "applications"

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first message of a file is one of the listener. Raises `SourceError`."""
        from lineage_merge.sources.spline import inspection

        return inspection.first_message_is(file, of_listener=True)
