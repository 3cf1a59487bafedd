"""The secrets of one run: what it resolved while it lasts, and how each is taken out of what it writes."""

import re
from typing import Final

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.requests import Remember
from memorywire.policy.redact import Finding, Redactor, redact_remember
from memorywire_openwop.rules import Rule

SHORTEST: Final = 8
"""Shorter values occur inside ordinary words, which redaction would spoil."""

_OTHER_MARKERS = re.compile(
    r"<REDACTED:([A-Za-z0-9_.:-]{1,64})>|\[BYOK:[^\]\n]{1,256}\]|<REDACTED:[^>\n]{1,256}>"
)


class Vault:
    """Values by the id of their secret; they are nowhere but here, and go when the run goes."""

    def __init__(self, rules: frozenset[Rule]) -> None:
        self._rules = rules
        self._values: dict[str, str] = {}
        self._redactor = Redactor(patterns=False)

    def add(self, id: str, value: str) -> None:
        """Know a secret from now on; raises InvalidRequest for one that is too short."""
        if len(value) < SHORTEST and Rule.FLOOR in self._rules:
            raise InvalidRequest(
                f"a secret shorter than {SHORTEST} characters cannot be told from ordinary words",
                field="value",
                fix="use a longer secret, or do not give it to this run",
            )
        values = {**self._values, id: value}
        try:
            self._redactor = Redactor(values, patterns=False)
        except InvalidRequest as problem:  # which speaks of labels, as the settings do
            field = "secretId" if problem.field == "label" else "value"
            raise InvalidRequest(problem.detail, field=field, fix=problem.fix) from None
        self._values = values

    def cleaned(self, request: Remember) -> tuple[Remember, tuple[tuple[str, str], ...]]:
        """The request with `[REDACTED:id]` where a secret stood, and the (id, place) of each."""
        if Rule.MARKERS in self._rules:
            tags = tuple(map(_spelled, request.tags))
            request = replace(request, content=_spelled(str(request.content)), tags=tags)
        if Rule.SECRETS not in self._rules:
            return request, ()
        clean, found = redact_remember(request, self._redactor)
        if Rule.OVERLAP not in self._rules:
            clean, found = self._one_by_one(request)
        if Rule.SECRETS_IN_TAGS not in self._rules:
            clean = replace(clean, tags=request.tags)
        return clean, tuple((finding.kind, finding.place) for finding in found)

    def _one_by_one(self, request: Remember) -> tuple[Remember, tuple[Finding, ...]]:
        """Redact with each secret by itself, the shortest first."""
        every: list[Finding] = []
        for id, value in sorted(self._values.items(), key=lambda item: len(item[1])):
            request, found = redact_remember(request, Redactor({id: value}, patterns=False))
            every += found
        return request, tuple(every)


def _spelled(text: str) -> str:
    """The text with other hosts' redaction markers in our spelling; a label that may be a value goes."""
    return _OTHER_MARKERS.sub(lambda found: f"[REDACTED:{found[1] or 'carried'}]", text)
