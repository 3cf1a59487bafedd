"""Retractions: detects statements that retract a fact, and finds the fact that they mean."""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare
from memorywire.facts.words import KIN, SLOT_OF_NOUN

_POLITE = (
    r"^(?:please,? |ok,? |no,? |sorry,? |wait,? |oops,? |actually,? |you can |could you |can you |just "
    r"|now )*"
)
_WHAT = (
    r"(?:(?:(?:all|everything|anything|whatever|what)\s+(?:(?:I|you|we)\s+(?:\w+\s+){0,3}?)?(?:about|on"
    r"|regarding|of))"
    r"|(?:the|my|our|that)\s+(?:\w+\s+)?(?:thing|bit|part|fact|stuff|note|entry|memory|point|one|line|rule"
    r"|message"
    r"|remark|comment|statement|request|instruction)s?\s+(?:about|that|on|with|where|saying)"
    r"|that(?=\s+\w+\s+\w)|about|my|our|the(?: whole| entire)?)\s+"
)
_COMMAND = re.compile(
    rf"{_POLITE}(?:forget|ignore|disregard|scrap|scratch|strike|discard|drop|remove|delete|erase|clear"
    rf"|wipe|undo"
    rf"|revert|withdraw|unlearn|bin|never mind)\s+{_WHAT}(?P<target>.+)"
    rf"|{_POLITE}(?:I |we )?(?:take|took|want to take|have to take|need to take) back {_WHAT}(?P<back>.+)"
    rf"|{_POLITE}(?:I was|we were|I am|I'm) (?:wrong|mistaken|lying|joking|kidding) (?:about"
    rf"|when I said)\s+(?P<wrong>.+)"
    r"|^what I (?:told you|said) (?:about|on) (?P<past>.+?) (?:is|was|isn't|is not) (?:out of date|wrong"
    r"|old|not|true|no)\b"
    r"|^(?:please,? |you can |now )*(?:stop|no more|enough(?: with| of)?(?: the)?) (?P<stop>\w+.+)"
    r"|^(?:there is |there's )?no (?:more )?need (?:to|for) (?P<need>.+?)(?: (?:any ?more|any longer"
    r"|now)\b|[.!]*$)"
    r"|^(?:I|we|you)(?: can| am| are|'m|'re)? (?:now )?(?:\w+)\s+(?P<again>.+?) again\b(?!st)",
    re.I,
)
"""Commands to forget, and words that end an instruction."""

_ALONE = re.compile(
    rf"{_POLITE}(?:(?:forget|ignore|scrap|scratch|disregard|delete|strike|cancel) (?:it|that|this"
    rf"|what I (?:just )?"
    r"said(?! about| on)|my (?:last|previous) message|I (?:ever )?(?:said|mentioned) (?:it|that"
    r"|anything))\b(?!\s+(?:I|we|my)\b)"
    r"|I take (?:it|that|what I said|all that) back|I take back (?:it|that|what I said)[.!]*$)"
    r"|\b(?:ignore|forget|scratch|scrap) that\b[.!]*$"
    r"|\bthat(?:'s| is| was)? (?:(?:no longer|not) (?:true|the case|so|right|valid)|not (?:true"
    r"|so) any ?more|over now|done with)"
    r"|\b(?:that|it) (?:doesn't|does not|no longer) (?:appl(?:y|ies)|holds?|counts?)\b",
    re.I,
)
_ENDED = re.compile(
    r"\b(?:any ?more(?! than)|any longer|no longer|no more|these days|after all|nowadays)\b", re.I
)
_DENIAL = re.compile(
    r"^(?:no,? |sorry,? )*(?:(?:it |this )?was a joke|that(?:'s| is| was) (?:a joke|a lie|made up|wrong"
    r"|not (?:true|right|so|correct)"
    r"|incorrect|a mistake"
    r"|false)|that isn't (?:true|right)|not true|you(?:'ve| have) got (?:that|it) wrong|wrong)\b",
    re.I,
)
_PAST_ENDS = (
    r"sold|quit|cancell?ed|ditched|dropped|stopped|abandoned|scrapped|retired|resigned|withdrawn|withdrew"
    r"|retracted"
    r"|(?:got|gotten|get|getting) rid of|(?:given|gave) (?:up(?: on)?|away|back)|(?:broke|broken"
    r"|split) up(?: with)?"
    r"|(?:separated|divorced) from|called off|(?:pulled|backed|dropped|moved|opted|grown|grew|fallen"
    r"|fell) out of"
    r"|(?:moved|switched|migrated) (?:off|away from|on from)|phased out|cut out|let go of|lost interest in"
    r"|(?:gone|went) (?:right |completely |really )?off"
    r"|outgrown|outgrew|unsubscribed from|(?:come|came|been taken) off|left|lost|lied about|made up"
    r"|used to|uninstalled|deleted|closed"
    r"|returned"
    r"|handed (?:back|in)|parted ways with|finished with|done with|done working (?:at|for|with)"
)
_DROPPED = re.compile(
    rf"^(?:I|we)(?: have|'ve| had)? (?:(?:finally|just|recently|now|since"
    rf"|actually) )*(?:{_PAST_ENDS})\s+(?P<target>.+)"
    r"|^(?:I|we)(?: have|'ve)? (?:was |were |been |got |am )(?:laid off|fired|sacked|dumped|evicted"
    r"|kicked out|made"
    r" redundant)(?: (?:from|by|at|of))?\s*(?P<job>.*)"
    r"|^(?P<with>[\w' ]{2,40}?) and I(?: have|'ve| are)? (?:broke|broken|split|splitting|separated"
    r"|divorced|getting divorced)\b"
    r"|^(?:I|we)(?: have|'ve)? (?:shut|closed|wound|gave|given|threw|thrown|turned|switched|called|packed"
    r"|handed) "
    r"(?P<thing>(?:the|my|our|that|this) .+?) (?:down|away|out|off|in|up|back)\b"
    r"|^(?:I am|I'm|we are|we're) (?:now )?(?:off|done with|out of"
    r"|over) (?:the )?(?P<off>\w[\w' -]{2,40}?)(?: now"
    r"| these days)?[.!]*$",
    re.I,
)
"""Statements that somebody gave something up."""

_GONE = re.compile(
    r"^(?!that's|that (?:is|was)|that\b(?! \w+ \w)|this\b|it\b|there\b|I\b|we\b)(?P<target>(?:the|our|my"
    r"|this|that)? ?[\w'./ -]{2,50}?)"
    r"(?:'s| is| are| was| were| has been| have been| has| have| had| got)?\s+(?:now |all |finally |been )*"
    r"(?:off(?=[.!,]|$)|moved out|died|gone\b(?! (?:up|down|to|cold))|cancell?ed|called off|not happening"
    r"|no more(?=[.!]*$)|over(?=[.!]*$)"
    r"|scrapped|dropped|discontinued|history(?=[.!]*$)|a thing of the past|lifted|abolished|revoked"
    r"|finished(?! \w)"
    r"|switched off|turned off|shut down|decommissioned|disbanded|torn down|demolished|closed down"
    r"|wound up|dissolved"
    r"|ended|expired|fell through|fallen through|ran out|run out|passed away|got sold|sold(?=[.!]*$)"
    r"|(?:is|was|turned out to be) (?:a )?(?:mistake|misdiagnosis|false alarm|typo|joke|wrong|not true|untrue"
    r"|fine (?:again|now)))(?! in \d)",
    re.I,
)
"""Statements that something is over."""

_GIVEN = re.compile(
    r"^(?:please,? )?(?:forget|ignore|disregard|scrap|delete|erase|remove|drop) (?:the|that"
    r"|all the) (?P<target>[\w' -]{2,40}?)"
    r" (?:that )?(?:I|you|we) (?:just )?(?:gave|told|mentioned|noted|have|saved|stored|sent|set|asked"
    r"|said)\b",
    re.I,
)
_STATES = frozenset("live work have own like love use play speak say".split())
_QUIT = frozenset("stop quit drop".split())
_SAME = {
    "married": "wedding",
    "engaged": "wedding",
    "girlfriend": "partner",
    "boyfriend": "partner",
    "wife": "partner",
    "husband": "partner",
    "limit": "budget",
    "flying": "flight",
    "fly": "flight",
}
"""Words that mean the same fact."""

_EMPTY = frozenset(
    """
    a an the my our your i we me us you it that this these those what whatever about of on in at to for
    from with by and or not no never is am are was were be been being has have had do does did don't any
    more anymore longer again please thing things stuff bit part fact rule rules ban limit restriction
    note message said say told noted wrote mention mentioned because so as if just now really user
    user's users always only one some all still ever when he she they them their his her its there than
    then too also here out up down off isn't aren't wasn't true can could will would should must may
    might cannot after all earlier last previous preference instruction everything anything something
    trip plan idea these days stack gave give given calling notes records memory list profile longer
    actually else name call called team
    whole right entirely weekend yesterday morning today tonight btw good mix-up lab mind anyway now
    """.split()
)


def stem(word: str) -> str:
    """Return a word without its ending, so that `taking`, `takes` and `take` are equal."""
    word = word.removesuffix("'s")
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for ending in ("ing", "ie", "ied", "ed", "ic", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            if ending != "y" or word[-2] not in "aeou":
                word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def find_key_words(text: str) -> frozenset[str]:
    """Return the stems of the distinctive words of a text."""
    words = (bare(word) for word in re.split(r"[\s/]+|(?<=no)-", text.replace("’", "'")))
    stems = (stem(word) for word in words if word and word not in _EMPTY)
    return frozenset(_ALIKE.get(one, one) for one in stems)


_ALIKE = {stem(word): stem(other) for word, other in _SAME.items()}


def is_about(text: str, target: str) -> bool:
    """Whether `target` retracts this fact: the fact has all key words of the target."""
    words = find_key_words(target)
    return bool(words) and words <= find_key_words(text)


def measure_match(text: str, target: str) -> float:
    """Return the share of common key words in the fact or the retraction, whichever has fewer."""
    words, own = find_key_words(target), find_key_words(text)
    common = frozenset(one for one in words if one in own or any(_is_part(one, other) for other in own))
    if not common or common <= _COMMON:
        return 0.0
    return len(common) / min(len(words), len(own))


def _is_part(word: str, other: str) -> bool:
    """Whether one word contains the other: `PureGym` contains `gym`."""
    return min(len(word), len(other)) >= _SHORTEST and (word in other or other in word)


_SHORTEST = 3
_COMMON = frozenset(
    "liv work go have get mak tak us want lik lov day week month year time new old hous".split()
)


def find_slots(target: str) -> frozenset[str]:
    """Return the slots that a retraction names instead of a fact: `address`, `my phone number`."""
    words = [word for word in map(bare, target.split()) if word not in _BESIDE_NOUNS]
    slot = SLOT_OF_NOUN.get(words[0], words[0] if words[0] == "age" else None) if len(words) == 1 else None
    if slot is None:
        return frozenset()
    return frozenset({"home", "address"} if slot in ("home", "address") else {slot})


_BESIDE_NOUNS = frozenset("my our the home postal work number details current full exact type".split())
_NAMED = (
    (re.compile(r"\bwhere (?:I|we) live\b", re.I), "my address"),
    (re.compile(r"\b(?:where|who) (?:I|we) work(?: for| at)?\b", re.I), "my employer"),
    (re.compile(r"\bwhat I do(?: for (?:a living|work))?\b", re.I), "my job"),
    (re.compile(r"\bhow old I am\b", re.I), "my age"),
    (re.compile(r"\b(?:who|what|when|where) (?P<noun>(?:my|our) [\w -]{2,30}?) is\b", re.I), r"\g<noun>"),
)
"""Indirect questions in a command, with the noun that each means: `forget where I live`."""


def find_retraction(clause: str, sentence: str) -> str | None:
    """Return the words that name what a clause retracts; None if it retracts nothing."""
    if _FORGETS.match(clause):
        for pattern, noun in _NAMED:
            clause = pattern.sub(noun, clause)
    for pattern in (_GIVEN, _COMMAND, _DROPPED, _GONE):
        match = pattern.match(clause)
        if match is not None:
            target = next((group for group in match.groups() if group), "job")
            return None if _KIN_LOST.search(clause) else _trim(target)
    return None


_KIN_LOST = re.compile(rf"\blost (?:my|our) (?:{'|'.join(KIN)})\b|\b(?:{'|'.join(KIN)})\b.* died\b", re.I)


def is_denial(clause: str) -> bool:
    """Whether a clause says that an earlier statement is wrong."""
    return _DENIAL.match(clause) is not None


def find_retraction_alone(clause: str) -> re.Match[str] | None:
    """Match a clause that retracts the statement just before it: `forget it`."""
    return _ALONE.search(clause)


def ends_fact(clause: Clause | None, text: str) -> bool:
    """Whether a clause says that a fact has ended: `I don't live in Bath any more`."""
    if clause is None:
        return bool(re.search(r"\b(?:not|no)\b", text)) and _ENDED.search(text) is not None
    if "no longer" in clause.adverbs:
        return True
    if clause.negative and (_ENDED.search(text) is not None or "actually" in clause.adverbs):
        return True
    if clause.negative and (clause.modal == "will" or _NOW.search(text)):
        return clause.subject.who is not Who.THING
    if "never" in clause.adverbs and clause.voice is Voice.PAST and clause.lemma in _STATES:
        return True
    is_over = clause.lemma in _QUIT and clause.voice in (Voice.PAST, Voice.PERFECT)
    return is_over and clause.subject.who is not Who.THING


_NOW = re.compile(r"\bnow[.!]*$", re.I)


def describe_end(clause: Clause | None, text: str) -> str:
    """Return the ended fact that a clause names, without its negation."""
    text = _ENDED.sub("", text)
    if clause is None:
        return _trim(re.sub(r"\b(?:isn't|aren't|not|no longer|is|are)\b", "", text))
    subject = "" if clause.subject.who in (Who.USER, Who.GROUP) else clause.subject.text
    verb = "" if clause.lemma in ("be", "have", "do", *_QUIT) else clause.lemma
    return _trim(f"{subject} {verb} {_ENDED.sub('', clause.rest)}")


_FORGETS = re.compile(rf"{_POLITE}(?:forget|delete|remove|erase|drop|clear)\b", re.I)
_FROM_MEMORY = re.compile(
    r"\s+(?:from|in|out of) (?:your|the) (?:memory|notes|records?|profile|files?)\b.*", re.I
)


def _trim(text: str) -> str:
    text = _FROM_MEMORY.sub("", text)
    return re.split(
        r"[,;.!?](?:\s|$)|\s(?:because|since|it was|it is|it doesn't|as)\s|\s(?:in|since|on) \d",
        text.strip(),
        maxsplit=1,
    )[0].strip(" .,!?;")
