"""Words that a person rejected: what says them again, in the same scope, waits for a person again."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from memorywire.journal.contract import Journal, Words
from memorywire.model.change import Put
from memorywire.model.clock import Clock
from memorywire.model.kv import MARK
from memorywire.model.proposal import Proposal
from memorywire.model.record import Record

_FRESH_MS = 1_000
_LABEL = b"rejected"  # separates these digests from others under the same key
_ABOUT = frozenset({"remember", "merge"})
_NO_LETTERS = re.compile(r"[\W_]+")


class RejectedWords:
    """The rejected words of a journal, as keyed digests in memory.

    A rejection made by another process is seen within a second.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._digests: frozenset[bytes] = frozenset()
        self._key = b""
        self._mark: tuple[int, int] | None = None
        self._read_at: int | None = None

    async def has_any(self, records: Sequence[Record]) -> bool:
        """Whether a person rejected what one of these records says."""
        await self._refresh()
        return bool(self._digests) and any(_digest(record, self._key) in self._digests for record in records)

    async def rejecting(self, proposals: Sequence[Proposal]) -> tuple[Words, ...]:
        """The words of proposals that a person rejects."""
        said = [(one.id, put.record) for one in proposals for put in _puts(one)]
        key = await self._journal.words_key() if said else b""
        return tuple(
            Words(tenant=record.scope.tenant, digest=_digest(record, key), proposal=id) for id, record in said
        )

    async def accepting(self, proposals: Sequence[Proposal]) -> tuple[Words, ...]:
        """The words of proposals that a person approves or opens again, if any words were ever rejected."""
        self.forget()
        await self._refresh()
        return await self.rejecting(proposals) if self._digests else ()

    def forget(self) -> None:
        """Read again, because this process changed it."""
        self._read_at = None

    async def _refresh(self) -> None:
        now = self._clock()
        if self._read_at is not None and 0 <= now - self._read_at < _FRESH_MS:
            return
        mark = await self._journal.rejected_mark()
        if mark != self._mark:
            self._digests = await self._journal.rejected_digests()
            self._key = await self._journal.words_key() if self._digests else b""
        self._mark, self._read_at = mark, now


def _puts(proposal: Proposal) -> tuple[Put, ...]:
    return proposal.change.put if proposal.change is not None and proposal.operation in _ABOUT else ()


def _digest(record: Record, key: bytes) -> bytes:
    """Equal for equal words in one scope; case, punctuation, spaces and invisible characters do not count.

    A value under a key is another one under another key: `true` says nothing by itself.
    """
    scope, words = record.scope, record.words
    said = words if words.isascii() else unicodedata.normalize("NFKC", words)
    letters = _NO_LETTERS.sub("", said.casefold()) or words
    key_value = record.metadata.get(MARK)
    place = f"{scope.tenant}\0{scope.agent}\0{scope.user is None}\0{scope.user}\0{key_value}\0{letters}"
    return hashlib.blake2b(place.encode(errors="replace"), digest_size=16, key=key, person=_LABEL).digest()
