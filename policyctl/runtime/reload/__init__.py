"""Policies that change while the process runs, from a file, a fetcher or Redis (C40)."""

from policyctl.runtime.reload.document import (
    PolicyDocument,
    RefusedError,
    read_document,
)
from policyctl.runtime.reload.keep import Kept, KeptError
from policyctl.runtime.reload.plan import Change, Plan, plan_changes
from policyctl.runtime.reload.reading import LastGood, Reading, StaleError
from policyctl.runtime.reload.reloader import Reloader, Status
from policyctl.runtime.reload.sources import (
    FetchSource,
    FileSource,
    RedisSource,
    Source,
)

__all__ = [
    "Change",
    "FetchSource",
    "FileSource",
    "Kept",
    "KeptError",
    "LastGood",
    "Plan",
    "PolicyDocument",
    "Reading",
    "RedisSource",
    "RefusedError",
    "Reloader",
    "Source",
    "StaleError",
    "Status",
    "plan_changes",
    "read_document",
]
