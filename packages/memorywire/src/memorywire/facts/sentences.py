"""Splits a text into sentences and clauses, and detects those that state no fact.

Questions, quotations, hypotheses, hearsay, jokes, irony and fiction state no facts. A sentence that resembles
one of them counts as one, because a missed fact does less harm than a fact that was never stated.
"""

import re
from collections.abc import Iterator
from functools import cache

from memorywire.facts.clauses import Form, bare, join_apposition, verb_forms
from memorywire.facts.words import (
    CONDITIONS,
    ILLNESSES,
    KIN,
    MONTHS,
    PEOPLE,
    PETS,
    RULES_OF_FOOD,
    WEEKDAYS,
)

LONGEST = 600
_BODY_PARTS = frozenset(
    "hearing eyesight back knee knees heart hip shoulder wrist condition pressure fever".split()
)

_SENTENCE = re.compile(r"(?<=[.!?])[\"”']?\s+(?=[A-Z\"'“(>`@\d]|i\b|i'|[a-z])|\n+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|e\.g|i\.e|vs|approx|No|a\.m|p\.m)\.$")

_OPENER = re.compile(
    r"^(?:(?:just )?so (?:you know|you're aware)|(?:(?:ok|okay|yes|yeah|yep|no|nope|right|sure|update"
    r"|note|reminder)(?=[,.:;!])|oh|well|hi|hello|hey|actually"
    r"|also|and|but|so|fyi|btw|by the way|for the record|for context|for reference|for your information"
    r"|quick note"
    r"|heads[- ]up|as you know|to be clear|honestly|in fact|please note|note that|thanks"
    r"|thank you|sorry|good morning|morning|unfortunately|luckily|sadly|turns out|it turns out|finally|anyway"
    r"|these days|nowadays|at the moment|currently|at work|at home|in general|as a rule|remember"
    r"|remember that"
    r"|please remember|please remember that|keep in mind|keep in mind that|don't forget|you should know"
    r"|for now|(?:since|because|as|now that|given that|seeing as|seeing that)(?= (?:I|we|my|our)\b))"
    r"(?: there| that|, that)?)\s*[,:;!.–-]*\s+(?=\S)",
    re.I,
)

_SUBJECT = (
    r"(?:I|i|[Ww]e|[Mm]y|[Oo]ur|he|she|it|they|there|you|that's|that is|don't|do not|[Cc]an't|cannot"
    r"|please|no"
    r"|nothing|nobody|everything|everyone|in case)(?:\b|')"
)
_ASKING = (
    r"(?:which|what|what's|how|how's|who|where|when|why|any|anything|suggest|recommend|find|draft|search"
    r"|show|tell"
    r"|put|set|give|write|got any|(?:is|are|am|do|does|did|has|have|was|were|will|would|could|can|should"
    r"|shall)"
    r" (?:I|i|we|you|u|it|that|there|this|these|they|he|she|the|my|our|an?|any|anyone|someone|one))\b"
)
_AUXILIARY = r"(?:is|are|am|do|does|did|can|could|would|will|should|has|have|was|were)\b"
_CLAUSE = re.compile(
    rf"\s*;\s+|\s+[-–—]+\s+|,\s+so\s+|\s+so\s+(?={_SUBJECT}|{_ASKING}|{_AUXILIARY})"
    rf"|,?\s+(?:but|plus)\s+(?:now\s+)?(?={_SUBJECT}|{_ASKING})"
    r"|,?\s+and\s+(?=(?:reckon|think|hope|hoping|want|need|wonder|thought|might|would|could|can't)\b)"
    r"|,?\s+since\s+(?=(?:I'm|I am|we're|we are|my|our|I have|I've got|I don't|I can't)\b)"
    r"|,?\s+(?:because|as|although|though|while|whereas|and now|and|that's why|which is why)\s+"
    rf"(?={_SUBJECT})|,\s*(?:and\s+)?(?:now\s+)?(?={_SUBJECT}|{_ASKING})|\s+(?:if only|in case)\s+"
)
"""The end of a clause: before another subject, a request or a question."""

_UNREAL = re.compile(
    r"\b(?:if (?:I|we|my|only|it|there|he|she|they|you (?:had|were|took))\b|what if|suppos(?:e|ing)"
    r"|imagine|pretend"
    r"|assum(?:e|ing) |let's say"
    r"|say (?:I|we|my|our)\b|for (?:example|instance)|e\.g\.|hypothetically|in theory|wish|hopefully"
    r"|hope to|hoping|maybe|perhaps|possibly"
    r"|probably|presumably"
    r"|might|may (?:be|have|get|go|move|need|want|try|start|become)|could (?:be|have|always|also|become"
    r"|get|move|go|use|try|switch)"
    r"|would (?:be|have|love to|like to|need|never|probably|want|go|use|say|get|make)|had (?:I|we) "
    r"|were (?:I|we) |not sure|unsure"
    r"|thinking (?:of|about)|considering|toying with|tempted|wondering|i guess|i suppose|i think"
    r"|i believe|i doubt|i assume"
    r"|dream(?:ed|t)|dreams? (?:of|about|that|job)|in (?:my|a) dream|once (?:owned|had|lived|worked|was)"
    r"|one day|someday|as if|unless|whether|in another life"
    r"|in case (?:I|we)"
    r"|for (?:the sake of argument|argument's sake)"
    r"|kind of feel|feels? like|seems? (?:like|to)|sort of|unlikely|in my head"
    r"|would've|i'd (?:love|like) to"
    r"|used to be|almost (?:bought|moved|got)|nearly (?:bought|moved|got)|meant to|supposed to|(?:was"
    r"|were) (?:going|about|due|planning) to)\b",
    re.I,
)
_SPOKEN = re.compile(
    r"\b(?:sa(?:ys|id|ying)|claim(?:s|ed|ing)?|told|tells|reckons?|reckoned|insist(?:s|ed)?|swears?"
    r"|swore|mention(?:s|ed)"
    r"|thinks|thought|believes|believed|assumes|wrote (?:that|to|in)|writes (?:that|in)|texted|tweeted"
    r"|posted|announced"
    r"|according to|apparently|reportedly|allegedly|supposedly|rumou?r|heard|overheard|i read|reads:"
    r"|(?:article|post|review"
    r"|report|sign|poster|label|manual|website|ad|book|email|message|letter|note) (?:says|said|reads"
    r"|states|claims)|quote"
    r"|quoting|as .{2,30} put it|goes \"|(?:goes|went|(?:was|were|is|'s) (?:all |just )?like),|or so"
    r"|people (?:say|think)|they say|word is|asks? (?:me )?(?:if"
    r"|whether)|asked)\b",
    re.I,
)
_JOKE = re.compile(
    r"^(?:naturally|obviously|clearly|surely|oh (?:yes|great|wonderful|sure|joy)|yes,? because"
    r"|because clearly|wow"
    r"|thrilled to|lucky me|nothing like|(?:oh|ah),? (?:brilliant|lovely|fantastic|perfect|super|nice"
    r"|good)|(?:great|lovely|brilliant|fantastic|wonderful|perfect|super),? (?:I|my|we|our|another|just"
    r"|now))\b|\bor so (?:he|she|they|the|I'm told)\b|\b(?:pet rock|jk|just kidding|kidding|joking"
    r"|only joking"
    r"|practically|literally|of course (?:I|we)|yeah right"
    r"|oh sure|sure thing|as usual|fight me\?"
    r"|blame (?:her|him|it)"
    r"|favou?rite thing in the world|at this point|in my (?:next|previous|past) life|wink|sarcasm|said no one"
    r"|procrastinat\w*|in (?:over\w+|napping|sarcasm|being late)|raised by wolves|world domination"
    r"|allergic to (?:mondays?"
    r"|work|stupid\w*|mornings|hard work|meetings|nonsense|bullshit|lies|people|effort|exercise)"
    r"|live for (?:the|these|this))\b|/s\b|[;:]-?[)P]|😂|🤣|😉|🙃",
    re.I,
)
_FICTION = re.compile(
    r"\b(?:(?:in|for|from) (?:my|the|a|this|our|your) (?:[a-z]+ )?(?:novel|story|poem|script|film|movie"
    r"|book|song|game"
    r"|play|series|show|comic|sketch|musical)|role-?play\w*|role-?playing|(?:my|the|a"
    r"|main) (?:main )?(?:character"
    r"|protagonist|narrator|hero|heroine|villain)|lyrics|fiction|fanfic|screenplay|diary entry"
    r"|act as|acting as|you are now|you're now|pretend|fairy tale|once upon a time|for the sake of"
    r"|exercise sentence|example sentence|sample sentence"
    r"|translate|translation of|how (?:do|would) (?:you|i|we|one) say|in (?:french|german|spanish|dutch"
    r"|italian|english)\?|proofread|rewrite|rephrase|paraphrase|conjugat\w+"
    r"|my (?:[\w&'-]+ ){1,2}character(?! limit| set| encoding)|my avatar"
    r"|(?:for|in) (?:the|this|my|our|a) (?:sketch|scene|scenario|simulation|exercise|skit"
    r"|improv)|alter ego|my persona|in-game|my sim|test (?:data|user|account)|dummy|lorem|placeholder"
    r"|bullet as an example|correct this)\b",
    re.I,
)
_WINK = re.compile(
    r"\b(?:haha\w*|hehe\w*|lol|lmao|rofl|basically|practically|literally|apparently|obviously|clearly)\b",
    re.I,
)
"""Words that make a clause a joke, though not the sentence around it."""

_OF_ANOTHER = re.compile(r"^\s*(?:>|\"|“|'(?=\w+ \w+))")
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]|(?<!\w)'[^']{3,}'(?!\w)|‘[^’]*’(?!\w)")
_QUESTION = re.compile(
    r"^(?:(?:and|so|but|or|wait|ok|okay|hey|hi|please|now)[, ]+)*(?:who|what|when|where|why|how|which"
    r"|whose|is|are|am|was|were|do|does"
    r"|did|don't (?:I|we|you|they|people|the)|doesn't|didn't|isn't|aren't|wasn't|can you|can i|can we"
    r"|could|would|will|shall|should|have i|have we|have you|has"
    r"|any ideas?|wanna|may i|might)\b(?! (?:not|n't)\b)",
    re.I,
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a longer one than LONGEST is cut."""
    text = text.replace("’", "'")
    rest = ""
    for part in _SENTENCE.split(text):
        sentence = f"{rest} {part}".strip() if rest else part.strip()
        if _ABBREVIATION.search(sentence):
            rest = sentence
            continue
        rest = ""
        if sentence:
            yield sentence[:LONGEST]
    if rest:
        yield rest[:LONGEST]


def split_clauses(sentence: str) -> list[str]:
    """Return the independent clauses of a sentence, each without its opening words."""
    sentence = _ITS.sub(_name_it, join_apposition(strip_opener(sentence)))
    sentence = _FRONT.sub(_move_back, sentence)
    together = _TOGETHER.match(sentence)
    at = together.end() if together else 0
    parts = _CLAUSE.split(sentence[at:])
    parts[0] = sentence[:at] + parts[0]
    return [clause for clause in map(strip_opener, parts) if clause]


_FRONT = re.compile(
    r"^(?P<when>(?:next|last|this|every|each|in|on|for|at|until|from|during|before|after) [\w' -]{2,36}?),? "
    r"(?P<clause>(?:I|we|my|our|(?-i:[A-Z][a-z]+(?= [a-z]+s)))(?: |')(?:(?! so | but | because | and (?:I"
    r"|we|my|our)\b)[^,;.!?])+)",
    re.I,
)


def _move_back(match: re.Match[str]) -> str:
    """Rewrite `In June we're going to Japan` as `we're going to Japan in June`."""
    when = match["when"]
    return f"{match['clause']} {when[0].lower()}{when[1:]}"


_TOGETHER = re.compile(r"(?:(?:[Mm]y|[Oo]ur) \w+ )?(?:[A-Z]\w+ )?and I\b")
_ITS = re.compile(
    r"^(?:It's|It is|That's|That is) (?P<whose>my|our) (?P<what>[\w' -]{3,40}?) (?=(?:on|in|at|next|this"
    r"|tomorrow)\b)",
    re.I,
)


def _name_it(match: re.Match[str]) -> str:
    """Rewrite `It's our anniversary on 3 July` as `Our anniversary is on 3 July`."""
    return f"{match['whose'].capitalize()} {match['what']} is "


def strip_opener(text: str) -> str:
    """Return the text without a greeting or an `anyway` before the statement."""
    text = text.strip(" \t,")
    for _ in range(3):
        match = _OPENER.match(text)
        if match is None:
            return text
        text = text[match.end() :]
    return text


def is_question(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return sentence.rstrip(" )\"'").endswith("?") or _QUESTION.match(sentence) is not None


_NOT = re.compile(
    r"^(?:not|as if|yeah,? right|(?:just |only )?(?:kidding|joking)|jk|lol|haha\w*|psych"
    r"|in my dreams|i wish)[ .!)]*$",
    re.I,
)


def takes_all_back(sentence: str) -> bool:
    """Whether a sentence marks the one before as a joke: `Not.`, `Just kidding.`"""
    return _NOT.match(sentence) is not None


def is_unreal(text: str) -> bool:
    """Whether the text is hypothetical or uncertain: a hypothesis, a wish, a hedge."""
    return _UNREAL.search(text) is not None


def is_unserious(text: str) -> bool:
    """Whether the text is a joke, irony or fiction, or material for a task."""
    return _JOKE.search(text) is not None or _FICTION.search(text) is not None


def is_hearsay(text: str) -> bool:
    """Whether the text reports what somebody said."""
    return _SPOKEN.search(text) is not None


def has_quotation(text: str) -> bool:
    """Whether the text quotes somebody else: it has quotation marks around more than a name."""
    if _OF_ANOTHER.match(text):
        return True
    return any(len(match.group().split()) > _NAME_WORDS for match in _QUOTED.finditer(text))


_NAME_WORDS = 3


@cache
def _introduces() -> re.Pattern[str]:
    return re.compile(r":\s+(?=(?:I|i|we|my|our|he|she)(?:\b|'))")


_TASK = re.compile(
    r"^(?:please |can you |could you )?(?:fix|rewrite|translate|summari[sz]e|correct|check|improve|edit"
    r"|rephrase|shorten|explain"
    r"|parse|analy[sz]e|classify|write|draft|complete|continue|convert|format|proofread|subject|example"
    r"|title|prompt|input|text"
    r"|sentence|quote|caption|headline|slogan|tweet)\b[^.!?]{0,60}:\s",
    re.I,
)


def quotes_after_colon(sentence: str) -> bool:
    """Whether a colon introduces a quotation in the first person: `the sentence was: I have two cats`."""
    if _TASK.match(sentence):
        return True
    match = _introduces().search(sentence)
    return match is not None and not _OPENER.match(sentence[: match.end()] + "x")


def is_real(part: str, line: str) -> bool:
    """Whether a clause states a fact: it is no hypothesis, hedge, hearsay or joke."""
    return not (is_unreal(part) or is_unreal(line) or is_hearsay(part) or _WINK.search(part))


_STAGE = re.compile(
    r"\b(?:role-?play\w*|pretend|imagine|act as|let's play|twenty questions|in the voice of"
    r"|once upon a time|as (?:though|if) (?:I|we)|like (?:I'm|I am) an?"
    r"|you are (?:now )?(?:an?|the|my) [\w ]{2,30},? and (?:I am|I'm)|(?:for|in) (?:the|this"
    r"|our) (?:exercise|scenario"
    r"|sketch|scene|simulation|skit|film|movie|novel|story|song|game)|my character|the narrator"
    r"|suppose (?:I|we|that))\b"
    r"|^you(?:'re| are) (?:now )?(?:an? |the |[A-Z]\w+\b)[^.!?]{0,40}\b(?:and|,) (?:I am|I'm)",
    re.I,
)


def is_staged(text: str) -> bool:
    """Whether the whole message is role play, or sets one up."""
    return _STAGE.search(text.replace("’", "'")) is not None


def _join(words: frozenset[str]) -> str:
    """Return a pattern that matches any of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


_MENTION = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ ){{0,2}}?(?P<noun>{_join(KIN | PETS | PEOPLE)})\b"
    r"(?:'s\b)?(?:,?(?: called| named)? (?P<name>[A-Z][a-z]+(?:(?:,| and|, and) [A-Z][a-z]+)*)\b)?"
)
_OWN_THING = re.compile(r"\b(?:[Mm]y|[Oo]ur) (?P<noun>[a-z]{3,})\b")
_PRONOUN = re.compile(r"^(?P<who>he|she|they|it)\b(?= (?:is|was|has|will|can|does|[a-z]+s)\b)", re.I)


def find_mention(text: str) -> str:
    """Return the person or thing that a later `she` or `it` means: `My niece Aoife`; empty if none."""
    match = _MENTION.search(text)
    if match is not None:
        return f"My {match['noun']} {match['name'] or ''}".strip()
    things = _OWN_THING.findall(text)
    return f"My {things[0]}" if len(things) == 1 else ""


def name_pronoun(line: str, last: str) -> str:
    """Replace a pronoun at the start of the clause by the last mentioned person or thing."""
    match = _PRONOUN.match(line) if last else None
    if match is None:
        return line
    is_person = last.split()[1] in _KIN_OR_PETS_ETC
    return line if is_person == (match["who"].lower() == "it") else f"{last}{line[match.end() :]}"


_STATES_OF_BODY = (
    RULES_OF_FOOD | CONDITIONS | {"allergic", "intolerant", "based", "married", "retired", "pregnant"}
)
_NOT_ME = frozenset("got said let being".split())


def restore_subject(line: str) -> str:
    """Add an omitted `I` to a clause: `Allergic to nuts`, `Moved to Leeds`, `Can not do dairy`."""
    words = line.split(None, 2)
    if len(words) < 2:
        return line
    first = words[0].lower().strip(",")
    rest = f"{words[0].lower()}{line[len(words[0]) :]}"
    if first in _STATES_OF_BODY:
        return f"I am {rest}"
    if first in ("just", "recently", "finally", "currently") and len(words) > 2:
        return restore_subject(line.split(None, 1)[1])
    if first in ("had", "been"):
        return f"I {'have ' if first == 'been' else ''}{rest}"
    if first == "got" and words[1].lower() in ("a", "an", "two", "three", "four", "my", "some"):
        return f"I have {rest}"
    if first in _ATTRIBUTES and {"is", "are"}.intersection(line.split()[1:4]):
        return f"My {rest}"
    if first == "size" and words[1][0].isdigit():
        return f"I am a {rest}"
    form = verb_forms().get(first)
    if first in ("do", "have") and words[1].lower() == "not" and len(words) > 2:
        verb = words[2].split()[0].lower()
        return f"I {rest}" if first == "have" or verb in _OWN_STATES else line
    if form is None or first in _NOT_ME:
        return line
    if form[1] is Form.ING and len(words) > 2:
        return f"I am {rest}"
    is_past = form[1] is Form.PAST and form[0] != first and words[1].lower() not in ("by", "out", "is", "are")
    return f"I {rest}" if is_past else line


_ATTRIBUTES = frozenset(
    """
    car insurance rent mortgage passport lease visa blood birthday address phone email postcode employer
    surname budget height weight shoe name
    """.split()
)
_OWN_STATES = frozenset("eat drink like have drive own smoke work live speak fly use cook".split())
_AS = re.compile(
    r"\b[Aa]s an? (?P<role>(?!child|kid|rule|result|treat|gift|side|start|test|surprise|way"
    r"|last)[\w -]{3,30}?),? I\b"
)
_CONDITION = re.compile(
    r"\b(?:my|our) (?P<owner>(?:[a-z]+ ){0,2}[a-z]+'s )?(?P<what>(?:[a-z-]+ )?"
    rf"(?:{_join(ILLNESSES - _BODY_PARTS)}|[a-z]+(?:itis|osis|emia|phobia|algia)|prolapsed disc"
    rf"|slipped disc))\b"
)


def find_presuppositions(sentence: str, user: str) -> Iterator[tuple[str, str]]:
    """Yield the facts that a sentence presupposes, each after the word whose absence shows that it is new."""
    for match in _MENTION.finditer(sentence):
        if match["name"] is not None and bare(match["name"]) not in _WEEKDAYS_OR_MONTHS:
            verb = "are" if " and " in match["name"] else "is"
            yield match["name"].split()[-1], f"{user}'s {match['noun']} {verb} {match['name']}."
    role = _AS.search(sentence)
    if role is not None:
        yield role["role"], f"{user} is a {role['role']}."
    for match in _CONDITION.finditer(sentence):
        owner = f"{user}'s {match['owner'].removesuffix(chr(39) + 's ')}" if match["owner"] else user
        yield match["what"].split()[-1], f"{owner} has {match['what']}."


_KIN_OR_PETS_ETC = KIN | PETS | PEOPLE
_WEEKDAYS_OR_MONTHS = WEEKDAYS | MONTHS
