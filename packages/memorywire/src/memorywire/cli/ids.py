"""Ids by their beginning, as in git: a unique prefix of a memory, change, proposal or recall id is enough."""

import re
from collections.abc import Iterable, Sequence

from memorywire.cli.context import CliContext
from memorywire.model.errors import InvalidRequest

_ID_LENGTH = 36
_PREFIX = re.compile(r"[0-9a-f]{4}[0-9a-f-]{0,31}")
"""The beginning of an id that memorywire made (a UUID). Ids that a caller chose are never completed."""
_SHOWN = 5
_PAGE = 1000


def resolve_memory_ids(cli: CliContext, ids: Sequence[str]) -> list[str]:
    return [resolve_memory_id(cli, id) for id in ids]


def resolve_memory_id(cli: CliContext, id: str) -> str:
    """Return the id of the one memory that begins so; the text itself if none does.

    Raises InvalidRequest with the ids if there are several.
    """
    if not _PREFIX.fullmatch(id):
        return id
    request = cli.payload(after=id, limit=_SHOWN + 1, include=["archived"])
    page = cli.readable_memory().call("list", request)  # ids are in order, so that matches come first
    return _choose(id, (item["id"] for item in page["items"]))


def resolve_proposal_id(cli: CliContext, id: str) -> str:
    """As `resolve_memory_id`, for proposals in any state."""
    if not _PREFIX.fullmatch(id):
        return id
    from memorywire.model.proposal import State

    request = {**cli.typed_scope(), "states": [state.value for state in State], "limit": _PAGE}
    page = cli.memory().call("proposals", request)
    matches = [item["id"] for item in page["items"]]
    while page.get("next"):
        page = cli.memory().call("proposals", {**request, "after": page["next"]})
        matches += [item["id"] for item in page["items"]]
    return _choose(id, matches)


def resolve_change_id(cli: CliContext, id: str) -> str:
    """As `resolve_memory_id`, for the newest changes."""
    if not _PREFIX.fullmatch(id):
        return id
    changes = cli.call("changes", limit=_PAGE)["changes"]
    return _choose(id, (change["id"] for change in changes))


def resolve_recall_id(cli: CliContext, id: str) -> str:
    """As `resolve_memory_id`, for the newest recalls."""
    if not _PREFIX.fullmatch(id):
        return id
    page = cli.memory().call("recalls", {**cli.typed_scope(), "limit": _PAGE})
    return _choose(id, (item["recall_id"] for item in page["items"]))


def _choose(prefix: str, ids: Iterable[str]) -> str:
    matches = [id for id in ids if id.startswith(prefix) and len(id) == _ID_LENGTH]
    if len(matches) > 1:
        more = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
        raise InvalidRequest(
            f"several ids begin with {prefix}: {', '.join(matches[:_SHOWN])}{more}",
            field="id",
            fix="type more characters of the id",
        )
    return matches[0] if matches else prefix
