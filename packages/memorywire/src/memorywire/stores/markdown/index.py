"""The inverted index: which word stands in which file how often. It is derived, and made again when lost."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from memorywire.search.text import terms


class Index:
    """The words of each file, by its fingerprint, so that only what changed is taken apart again."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._words: dict[str, Counter[str]] = _loaded(file)
        self._changed = False

    def of(self, fingerprint: str, text: str) -> Counter[str]:
        """The words of the file with this fingerprint, whose memory reads `text`."""
        found = self._words.get(fingerprint)
        if found is None:
            found = self._words[fingerprint] = terms(text)
            self._changed = True
        return found

    def keep_only(self, fingerprints: Iterable[str]) -> None:
        """Forget every other file's words, on the disk too."""
        wanted = frozenset(fingerprints)
        self._words = {name: words for name, words in self._words.items() if name in wanted}
        self._changed = True
        self.save()

    def save(self) -> None:
        if self._changed:
            written = json.dumps(_inverted(self._words), ensure_ascii=False, indent=0, sort_keys=True)
            beside = self._file.with_suffix(".new")
            beside.write_text(written, encoding="utf-8")
            beside.replace(self._file)
            self._changed = False


def _inverted(words: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, counts in words.items():
        for word, count in counts.items():
            found.setdefault(word, {})[name] = count
    return found


def _loaded(file: Path) -> dict[str, Counter[str]]:
    try:
        inverted = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # it is made again as files are read
    words: dict[str, Counter[str]] = {}
    for word, counts in inverted.items():
        for name, count in counts.items():
            words.setdefault(name, Counter())[word] = count
    return words
