"""Finds rules in messages: what to know, to do or never to do from now on."""

import re
from collections.abc import Iterator

KNOW, DO, BLACKLIST = "know", "do", "blacklist"
# `Always` and `never` also begin remarks ("always a pleasure", "never gonna give you up"). Only with one of
# these verbs, which people use in instructions to an assistant, is it a rule.
_VERBS = (
    "abbreviate add address align allow amend annotate answer append apply approve archive ask assign "
    "assume attach avoid back backup bcc begin block book branch bring build bump bundle bypass cache "
    "call cancel cast cc change charge check choose cite clean clear click close collapse combine "
    "comment commit compare compile complete compress confirm connect consider consult convert copy "
    "create credit crop cut default define delay delete deploy describe disable discard disclose "
    "display document download draft drop edit email embed enable encode encrypt end escape estimate "
    "exclude execute expand explain export expose fetch file finish fix follow force force-push format "
    "forward generate guess handle hardcode hard-code hide highlight ignore import include increment "
    "indent infer inline insert install interrupt introduce invent label leave limit link lint list "
    "load lock log lowercase mark mention merge message mix modify mock move name notify number offer "
    "omit open order overwrite paraphrase parse pass paste pay phrase pick pin post prefer prefix "
    "prepare print propose publish pull push put quote raise read rebase recommend reconfirm record "
    "redact refactor refer refuse regenerate reject release reload remind remove rename render reply "
    "report request require reserve reset resolve respond restart restore return reuse reveal review "
    "revert rewrite rotate round run sanitize save scan schedule search select send separate serve "
    "share shorten show sign skip sort specify split squash stage start state stick stop store submit "
    "suggest suppress summarise summarize swap switch tag test touch track translate trim truncate "
    "trust turn type uninstall unlock update upgrade upload validate verify version wait warn wrap "
    "write"
)
_PERSONAL = (
    "be bill buy carry collect congratulate contact cook deliver dim discuss do double-check drive eat "
    "escalate feed fly give go greet heat hold invite invoice keep let lower make meet order pack park "
    "phone ping play refund ring seat set sit speak take talk tell text thank travel treat visit wake "
    "walk wash water wear"
)
_FIRST = "|".join(sorted(f"{_VERBS} {_PERSONAL}".split(), key=len, reverse=True))
_IMPERATIVE = rf"(?:use(?! to\b)|{_FIRST})(?![\w'’-])"
# Sayings and songs that have the form of an order.
_SAYINGS = (
    r"(?:always|never|(?:do not|don['’]t) ever) (?:let (?:me|you|it|them|go)\b|give (?:up|in)\b"
    r"|go (?:away|back on|out of (?:style|fashion)|wrong|hungry)\b"
    r"|be (?:yourself|kind|my|the same|afraid|so|that|there|too|a|an|alone|enough|able|sorry|sure"
    r"|mine|with)\b"
    r"|make (?:it|me|my day)\b|do that\b|trust (?:a|your gut)\b|take (?:it|me|no for)\b"
    r"|tell (?:me the odds|the same)\b|keep (?:me|smiling|it up)\b|leave (?:me|a man)\b|change[.!]*$"
    r"|follow your (?:heart|dreams)\b|put off (?:till|until)\b|save the best\b|read the room\b"
    r"|start (?:a|what)\b.*\bfinish|wake a\b|meet your heroes\b|play with fire\b|set in stone\b"
    r"|stop (?:\w+ing|me|us)\b|open to\b|call me that\b|(?:end|show|wake) up\b|check out\b|open late\b"
    r"|test (?:me|my patience)\b)"
)
_START = r"(?:please,? )?(?:you (?:should|must|have to) |make sure (?:to|you) |remember to )?"
# A one-off request ("don't touch that file") is not a rule: each form has a word that makes it permanent.
_LASTING = {
    BLACKLIST: rf"never (?:ever )?{_IMPERATIVE}|(?:do not|don['’]t) ever {_IMPERATIVE}|"
    rf"(?:do not|don['’]t) {_IMPERATIVE}(?=.*\b(?:again|any ?more|from now on)\b)|"
    rf"from now on,? (?:please )?(?:you |we )?(?:never|do not|don['’]t) {_IMPERATIVE}",
    DO: rf"always,? {_IMPERATIVE}|"
    rf"from now on,? (?:please )?(?:we |you (?:should |must )?)?(?:always |only )?{_IMPERATIVE}",
    KNOW: r"remember that (?!(?:time|day|night|summer|song|movie|film|one|guy|trip|place|party|game|show|"
    r"feeling|story|old)\b)|keep in mind that |note that (?!down\b)|for the record[,:]? ",
}
_FORMS = tuple(
    (kind, re.compile(rf"(?!(?:please,? )?{_SAYINGS}){_START}(?:{ways}).+", re.IGNORECASE))
    for kind, ways in _LASTING.items()
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST = 400


def session_source(session: str) -> str:
    """Return the source of rules from this session."""
    return f"session:{session}"


def find_rules(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence that is a rule for what to know, do or never do from now on, after its kind."""
    for sentence in (one.strip() for one in _SENTENCE.split(text)):
        kind = match_rule(sentence)
        if kind is not None and len(sentence) <= _LONGEST and not sentence.endswith("?"):
            yield kind, sentence


def match_rule(sentence: str) -> str | None:
    return next((kind for kind, form in _FORMS if form.match(sentence)), None)
