"""The journal: what was accepted, as it was received, on disk before it is acknowledged."""

from collector.journal.commit import FsyncPolicy, GroupCommit, JournalFullError
from collector.journal.files import Files, OsFiles
from collector.journal.log import Journal, JournalError
from collector.journal.segment import Damage, UnknownVersionError

__all__ = [
    "Damage",
    "Files",
    "FsyncPolicy",
    "GroupCommit",
    "Journal",
    "JournalError",
    "JournalFullError",
    "OsFiles",
    "UnknownVersionError",
]
