"""Holds the secrets of one run, and redacts them from what it writes."""

import re
from typing import Final

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.requests import Remember
from memorywire.policy.redact import Redactor, redact_remember

CHARS_MIN: Final = 8
"""Shorter values also occur inside ordinary words, which redaction would damage."""

_OTHER_MARKERS = re.compile(
    r"<REDACTED:([A-Za-z0-9_.:-]{1,64})>|\[BYOK:[^\]\n]{1,256}\]|<REDACTED:[^>\n]{1,256}>"
)


class Vault:
    """Secret values by id; they exist only in memory and are dropped with the run."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._redactor = Redactor(patterns=False)

    def add(self, id: str, value: str) -> None:
        """Add a secret; raises InvalidRequest if it is too short."""
        if len(value) < CHARS_MIN:
            raise InvalidRequest(
                f"a secret shorter than {CHARS_MIN} characters cannot be distinguished from ordinary words",
                field="value",
                fix="use a longer secret, or do not give it to this run",
            )
        values = {**self._values, id: value}
        try:
            self._redactor = Redactor(values, patterns=False)
        except InvalidRequest as problem:  # its field is called `label`, as in the settings
            field = "secretId" if problem.field == "label" else "value"
            raise InvalidRequest(problem.detail, field=field, fix=problem.fix) from None
        self._values = values

    def redact(self, request: Remember) -> tuple[Remember, tuple[tuple[str, str], ...]]:
        """Return the request with secrets replaced by `[REDACTED:id]`, and the (id, place) of each."""
        tags = tuple(map(_rewrite_markers, request.tags))
        request = replace(request, content=_rewrite_markers(str(request.content)), tags=tags)
        clean, findings = redact_remember(request, self._redactor)
        return clean, tuple((finding.kind, finding.place) for finding in findings)


def _rewrite_markers(text: str) -> str:
    """Convert other hosts' redaction markers to our form; drops labels that may be values."""
    return _OTHER_MARKERS.sub(lambda match: f"[REDACTED:{match[1] or 'carried'}]", text)
