"""Rules in what people say: what to know, do or never do from now on."""

import re
from collections.abc import Iterator

KNOW, DO, BLACKLIST = "know", "do", "blacklist"
# A one-off request ("don't touch that file") is not a rule: each form has a word that makes it permanent.
_LASTING = {
    BLACKLIST: r"never (?!mind\b|heard\b|knew\b)|(?:do not|don['’]t) ever |"
    r"(?:do not|don['’]t) (?=.*\b(?:again|any ?more|from now on)\b)|from now on,? (?:never|do not|don['’]t) ",
    DO: r"always |from now on,? ",
    KNOW: r"remember that |keep in mind that |note that |for the record[,:]? ",
}
_FORMS = tuple(
    (kind, re.compile(rf"(?:please,? )?(?:{ways}).+", re.IGNORECASE)) for kind, ways in _LASTING.items()
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST = 400


def session_source(session: str) -> str:
    """Return the source of rules from this session."""
    return f"session:{session}"


def find_rules(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence that says what to know, do or never do from now on, with its kind."""
    for sentence in (one.strip() for one in _SENTENCE.split(text)):
        kind = match_rule(sentence)
        if kind is not None and len(sentence) <= _LONGEST and not sentence.endswith("?"):
            yield kind, sentence


def match_rule(sentence: str) -> str | None:
    return next((kind for kind, form in _FORMS if form.match(sentence)), None)
