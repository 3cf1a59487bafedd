"""Parses a clause into its subject, its verb with tense and negation, and the words after the verb.

A clause is read from left to right: the subject, then auxiliaries, negations and adverbs, then the main
verb. A clause that does not begin with a subject and a known verb is not parsed, and the reader ignores
it.
"""

import re
from enum import Enum
from functools import cache
from typing import NamedTuple

from memorywire.facts.words import (
    CONFIGURED,
    FOODS,
    KIN,
    MEETINGS,
    PEOPLE,
    PETS,
    TASTES,
    THINGS,
    TOOLS,
    WEEKDAYS,
)

_SHORT = re.compile(
    r"\b(?P<who>[Ii]|[Ww]e|[Yy]ou|[Tt]hey|[Hh]e|[Ss]he|[Ii]t|[Tt]here|[Tt]hat|[Ww]ho|[Ww]hat)"
    r"'(?P<verb>m|ve|re|ll|d|s)\b|\b(?P<aux>[A-Za-z]{2,5})n't\b|\b(?P<bare>[Ii]m|[Ii]ve|[Dd]ont"
    r"|[Dd]oesnt|[Cc]ant)\b"
    r"|\b(?P<can>[Cc])annot\b"
)
_VERBS_OF = {"m": "am", "ve": "have", "re": "are", "ll": "will", "d": "would", "s": "is"}
_BARE = {"im": "I am", "ive": "I have", "dont": "do not", "doesnt": "does not", "cant": "can not"}
_AUXILIARIES = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}

_LEMMAS = """
    accept adopt adore agree answer apply arrive attend avoid bake begin book borrow bore bring build
    buy call cancel care carry choose close climb code collect come commute cook crochet cycle dance
    decide deploy detest develop dislike do draw drink drive drop eat employ end enjoy enroll expect
    expire finish fly follow follow get give go graduate grow handle hate have head hike hold host
    identify inherit invest join jog keep knit know lead learn leave like listen live love make manage
    marry meditate meet merge migrate mind move need observe offer open order own owe paint park pass
    pay pick pin plan play practise practice prefer present program publish put quit raise react read
    register release rent reply respond restore retire return ride run run sail save sell serve settle
    sew share shop sign sing sit ski skip sleep smoke speak spend sponsor squash standardise standardize
    start stay stick stop store study subscribe support surf suffer swear swim switch take talk teach
    test throw tolerate touch train translate travel turn upgrade use visit volunteer vote wait walk
    look watch want wear weigh welcome work write bear stand rely rotate back break lose win get divorce
    separate split cache send report freelance downgrade maintain indent require raise carry steer recover
    weigh stutter water fast diagnose renew wake
    die confirm admit replace refer review tag push rebase host log
    ship bill invoice price celebrate commit format lint document
    think say tell ask find feel see hear catch fall send lend hang dig feed shoot hide bite lay rise
    shake steal tear freeze forget lie wonder hope mean let wish foster shoot exchange dictate clean
    owe change expect look shut
    """.split()

_IRREGULAR = dict(
    entry.split(":")
    for entry in " ".join(
        """
    begin:began begun, bring:brought, build:built, buy:bought, choose:chose chosen, come:came, do:did done,
    draw:drew drawn, drink:drank drunk, drive:drove driven, eat:ate eaten, fly:flew flown, get:got gotten,
    give:gave given, go:went gone, grow:grew grown, have:had, hold:held, keep:kept, know:knew known,
    lead:led, leave:left, lose:lost, make:made, meet:met, pay:paid, put:put, quit:quit, read:read, ride:rode
    ridden, run:ran, sell:sold, sing:sang sung, sit:sat, sleep:slept, speak:spoke spoken, spend:spent,
    split:split, stand:stood, stick:stuck, swear:swore sworn, swim:swam swum, take:took taken, teach:taught,
    throw:threw thrown, wake:woke woken, wear:wore worn, win:won, write:wrote written, bear:bore born borne,
    break:broke broken, think:thought, say:said, tell:told, find:found, feel:felt, see:saw seen, hear:heard,
    catch:caught, fall:fell fallen, send:sent, lend:lent, hang:hung, dig:dug, feed:fed, shoot:shot, hide:hid
    hidden, bite:bit bitten, lay:laid, rise:rose risen, shake:shook shaken, steal:stole stolen, tear:tore
    torn, freeze:froze frozen, shut:shut, forget:forgot forgotten, mean:meant, let:let
    """.split()
    ).split(", ")
)
_DOUBLED = frozenset(
    """
    plan stop run swim put get quit sit drop ship log tag jog commit split pin win skip shop travel
    cancel
    """.split()
)

_BE = frozenset("am is are was were be been being".split())
_PAST_BE = frozenset("was were been".split())
_MODALS = frozenset("will shall would should must can could may might ought".split())
_ADVERBS = frozenset(
    """
    really absolutely also always usually often mostly still just only already normally generally
    currently now actually definitely strictly completely both all recently finally mainly typically
    sometimes regularly genuinely quite very totally officially originally previously ever personally
    simply honestly severely deathly mildly badly horribly terribly highly slightly seriously
    technically primarily exclusively almost long much
    """.split()
)
_LY_VERBS = frozenset("fly apply reply rely supply comply multiply ally".split())
_NEGATIONS = frozenset({"not", "never", "hardly", "rarely", "seldom", "no"})
_DETERMINERS = frozenset({"my", "our", "the", "this", "these", "all", "each", "every", "both"})
LINKS = frozenset("for of in at from with to on by during before after until about under".split())
_AFTER_IS = frozenset(
    """
    called named got been allergic a an the not on in at from based always never vegan vegetarian
    married pregnant currently now just my our due
    """.split()
)
ORDINARY = (PEOPLE | THINGS | CONFIGURED | FOODS | TASTES | TOOLS | WEEKDAYS | MEETINGS | PETS) - {
    "go",
    "make",
}
_PRONOUNS = frozenset(
    "please it that this there you he she they what who which how why when where if".split()
)
_NP_MAX = 9
_USERS = frozenset({"user", "the user", "the customer", "customer", "this user", "this customer"})


class Form(Enum):
    BASE = "base"
    SINGULAR = "singular"
    PAST = "past"
    ING = "ing"


class Voice(Enum):
    PRESENT = "present"
    PAST = "past"
    PERFECT = "perfect"
    PROGRESSIVE = "progressive"
    PASSIVE = "passive"
    FUTURE = "future"


class Who(Enum):
    """The kind of a subject: the speaker, the speaker and others, another person, or a thing."""

    USER = "user"
    GROUP = "group"
    PERSON = "person"
    THING = "thing"


class Subject(NamedTuple):
    """The subject of a clause: its kind, its words, and its head noun, name or relation."""

    who: Who
    text: str
    head: str
    is_own: bool = False


class Clause(NamedTuple):
    """A parsed clause; in `words`, the verb group begins at `verb_at` and the words after it at `rest_at`."""

    subject: Subject
    lemma: str
    voice: Voice
    negative: bool
    modal: str | None
    adverbs: frozenset[str]
    words: list[str]
    verb_at: int
    rest_at: int

    @property
    def rest(self) -> str:
        return " ".join(self.words[self.rest_at :])


@cache
def verb_forms() -> dict[str, tuple[str, Form]]:
    """Return every form of the known verbs, with its lemma and kind."""
    forms: dict[str, tuple[str, Form]] = {}
    for lemma in _LEMMAS:
        past = _IRREGULAR.get(lemma, _past(lemma)).split()
        for form in past:
            forms[form] = (lemma, Form.PAST)
        forms[_ing(lemma)] = (lemma, Form.ING)
        forms[singular(lemma)] = (lemma, Form.SINGULAR)
    for lemma in _LEMMAS:
        forms.setdefault(lemma, (lemma, Form.BASE))
    return forms


def singular(verb: str) -> str:
    """Return the third person singular of a verb."""
    if verb in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeou" else f"{verb}s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if verb in _DOUBLED else f"{verb}ed"


def _ing(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in _DOUBLED else f"{verb}ing"


def expand(text: str) -> str:
    """Write contractions out: `I'm` as `I am`, `can't` as `can not`."""
    if "’" in text:
        text = text.replace("’", "'")
    return _SHORT.sub(_write_out, text).replace(" is got ", " has got ")


def guess_form(word: str) -> tuple[str, Form] | None:
    """Return the lemma and the form of a verb, from the known forms, else guessed by its ending."""
    known = verb_forms().get(word)
    if known is not None or not word.isalpha() or word in _NO_VERBS:
        return known
    if word.endswith("ing") and len(word) > 5:
        return word[:-3], Form.ING
    if word.endswith("ed") and len(word) > 4:
        return word[:-2], Form.PAST
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1], Form.SINGULAR
    return word, Form.BASE


_NO_VERBS = frozenset("and or the a an my our for of in at on with to as if too who that which".split())


def _write_out(match: re.Match[str]) -> str:
    if match["who"]:
        return f"{match['who']} {_VERBS_OF[match['verb']]}"
    if match["bare"]:
        text = _BARE[match["bare"].lower()]
        return text if match["bare"][0].islower() else text[0].upper() + text[1:]
    if match["can"]:
        return f"{match['can']}an not"
    aux = match["aux"]
    whole = _AUXILIARIES.get(aux.lower(), aux.lower())
    return f"{whole if aux[0].islower() else whole.capitalize()} not"


def bare(word: str) -> str:
    """Return a word in lower case without the punctuation around it."""
    return word.strip(".,;:!?\"'()`*").lower()


_APPOSED = re.compile(
    r"^(?:(?P<name>[A-Z]\w+), (?:my|our) (?P<kin>[\w-]+),|(?:My|my|Our"
    r"|our) (?P<kin2>[\w-]+), (?P<name2>[A-Z]\w+),) "
)


def join_apposition(text: str) -> str:
    """Rewrite `Anna, my sister, lives in Graz` as `My sister Anna lives in Graz`."""
    return _APPOSED.sub(_name_relation, text) if "," in text else text


def _name_relation(match: re.Match[str]) -> str:
    """Rewrite `Anna, my sister,` as `My sister Anna`."""
    return f"My {match['kin'] or match['kin2']} {match['name'] or match['name2']} "


def parse(text: str) -> Clause | None:
    """Parse a clause without contractions; None if it does not have the form of a statement."""
    words = join_apposition(text).split()
    if len(words) < 2:
        return None
    place = _find_subject(words)
    if place is None:
        return None
    subject, at = place
    return _parse_verb(subject, words, at)


def _find_subject(words: list[str]) -> tuple[Subject, int] | None:
    first = words[0].lower()
    if first == "i":
        return Subject(Who.USER, "I", "user"), 1
    if first == "user" or (first == "the" and words[1].lower() in ("user", "customer")):
        at = 1 if first == "user" else 2
        return Subject(Who.USER, " ".join(words[:at]), "user"), at
    if first == "we":
        return Subject(Who.GROUP, "We", "user"), 1
    if "I" in words[2:6] and (words[0][0].isupper() or first in ("my", "our")):
        at = words.index("I", 2)
        if words[at - 1] == "and":
            return Subject(Who.PERSON, f"{' '.join(words[:at])} the user", words[0]), at + 1
    if first in ("can", "do") and len(words) > 2 and words[1] == "not":  # "Can't do dairy"
        return (Subject(Who.USER, "I", "user"), 0) if first == "can" else None
    end = None if first in _PRONOUNS else _find_verb(words)
    if end is None:
        return None
    if "I" in words[:end]:
        return None
    return _name_subject(words, end), end


def _find_verb(words: list[str]) -> int | None:
    """Return the index of the verb group after a noun phrase; writes a contracted `'s` out in `words`."""
    forms = verb_forms()
    for at in range(min(len(words), _NP_MAX)):
        word = words[at].lower()
        if at and (word in _BE or word in _MODALS or word in ("has", "have", "had", "do", "does", "did")):
            return at
        if word.endswith("'s") and _is_short_is(words, at):
            words[at : at + 1] = [words[at][:-2], "has" if words[at + 1] == "got" else "is"]
            return at + 1
        if word.endswith((",", ";", ":")):
            return None
        known = forms.get(word)
        if at and known is not None and known[1] in (Form.SINGULAR, Form.PAST, Form.BASE):
            if known[1] is Form.BASE and not _is_plural(words[at - 1]):
                continue
            is_free = word not in ORDINARY or words[at - 1].lower() == "team"
            if words[at - 1].lower() not in _DETERMINERS and is_free:
                return at
        if at and (word in ("always", "never", "usually", "only") or words[at : at + 2] == ["no", "longer"]):
            return at
    return None


def _is_short_is(words: list[str], at: int) -> bool:
    """Whether `'s` is a contraction of is or has, and not a genitive."""
    following = words[at + 1 : at + 5]
    if not following or words[at].lower() == "user's":
        return False
    after = bare(following[0])
    if after in _AFTER_IS:
        return True
    return not any(word in _BE or word in ("has", "goes", "lives", "works", "likes") for word in following)


def _is_plural(word: str) -> bool:
    word = bare(word)
    return (word.endswith("s") and not word.endswith("ss")) or word in ("children", "people", "kids", "i")


def _name_subject(words: list[str], end: int) -> Subject:
    phrase = words[:end]
    text = " ".join(phrase)
    lower = text.lower()
    first = phrase[0].lower()
    if lower in _USERS:
        return Subject(Who.USER, text, "user")
    is_own = first in ("my", "our") or lower.startswith(("the user's ", "user's "))
    head = _find_head(phrase)
    if head == "team" and (is_own or lower == "the team"):
        return Subject(Who.GROUP, text, "user")
    if head in PEOPLE and (is_own or head in KIN or first == "the"):
        return Subject(Who.PERSON, text, head, is_own)
    if not is_own and first not in _DETERMINERS and _is_name(phrase):
        return Subject(Who.PERSON, text, text)
    return Subject(Who.THING, text, head, is_own)


def _find_head(phrase: list[str]) -> str:
    """Return the head of a noun phrase: the last noun before a preposition or a name."""
    stop = next((at for at, word in enumerate(phrase) if at and word.lower() in LINKS), len(phrase))
    for at in range(stop - 1, -1, -1):
        word = bare(phrase[at])
        if at == 0 or not phrase[at][0].isupper() or word in ORDINARY:
            return word.removesuffix("'s")
    return bare(phrase[stop - 1])


def _is_name(phrase: list[str]) -> bool:
    return all(word[0].isupper() or word == "and" for word in phrase) and not any(
        bare(word) in ORDINARY
        or bare(word) in _PRONOUNS_OR_ADVERBS_ETC
        or bare(word) in verb_forms()
        or word.endswith("ly")
        for word in phrase
    )


class _Group:
    """The auxiliaries, negations and adverbs between the subject and the main verb, as read so far."""

    def __init__(self) -> None:
        self.has_be = self.has_have = self.is_past = self.negative = self.has_do = False
        self.modal: str | None = None
        self.adverbs: set[str] = set()

    def take(self, word: str, following: str) -> bool:
        """Record an auxiliary, negation or adverb; return False for the main verb."""
        if word in _BE:
            self.has_be, self.is_past = True, self.is_past or word in _PAST_BE
        elif word in ("have", "has", "had") and not (self.has_have or self.has_do or self.modal):
            self.has_have = True
        elif word in ("do", "does", "did") and (following in _NEGATIONS or following in verb_forms()):
            self.has_do, self.is_past = True, word == "did"
        elif word in _MODALS:
            self.modal = word
        elif word in _NEGATIONS:
            self.negative = True
            self.adverbs.add(word)
        elif word == "longer" and self.negative:
            self.adverbs.add("no longer")
        elif word in _ADVERBS or (word.endswith("ly") and word not in _LY_VERBS):
            self.adverbs.add(word)
        else:
            return False
        return True

    def find_form(self, word: str, *, is_free: bool) -> tuple[str, Form] | None:
        """Return the lemma and form of the main verb; guess an unknown one where a verb must follow."""
        known = verb_forms().get(word)
        if known is not None or not (is_free or self.has_be or self.has_have):
            return known
        guess = guess_form(word)
        if guess is None or (self.has_be and guess[1] is not Form.ING):  # `I am bored` has no other verb
            return None
        return None if self.has_have and guess[1] is Form.BASE else guess

    def find_voice(self, form: Form) -> Voice:
        if self.has_be and form is Form.ING:
            return Voice.PAST if self.is_past and not self.has_have else Voice.PROGRESSIVE
        if self.has_be and form is Form.PAST:
            return Voice.PASSIVE
        if self.has_have and form is Form.PAST:
            return Voice.PERFECT
        if self.modal in ("will", "shall"):
            return Voice.FUTURE
        return Voice.PAST if form is Form.PAST or self.is_past else Voice.PRESENT


_BARE_FORMS = (Form.BASE, Form.SINGULAR)


def _parse_verb(subject: Subject, words: list[str], verb_at: int) -> Clause | None:
    group = _Group()
    at = verb_at
    while at < len(words):
        following = words[at + 1].lower() if at + 1 < len(words) else ""
        if not group.take(words[at].lower(), following):
            break
        at += 1
    word = bare(words[at]) if at < len(words) else ""
    known = group.find_form(word, is_free=subject.who in (Who.USER, Who.GROUP))
    if group.modal == "would" and word in ("rather", "sooner"):
        lemma, voice, rest_at = "prefer", Voice.PRESENT, at + 1
        group.modal = None
    elif known is not None and not (group.has_be and (known[1] in _BARE_FORMS or words[at][0].isupper())):
        lemma, voice, rest_at = known[0], group.find_voice(known[1]), at + 1
        if lemma == "get" and group.has_have and word == "got":
            lemma, voice = "have", Voice.PRESENT
    elif group.has_be:
        lemma, voice, rest_at = "be", Voice.PAST if group.is_past else Voice.PRESENT, at
        if group.has_have:
            voice = Voice.PERFECT
        elif group.modal in ("will", "shall"):
            voice = Voice.FUTURE
    elif group.has_have:
        lemma, voice, rest_at = "have", Voice.PRESENT, at
        if words[verb_at].lower() == "had":
            voice = Voice.PAST
    else:
        return None
    return Clause(
        subject, lemma, voice, group.negative, group.modal, frozenset(group.adverbs), words, verb_at, rest_at
    )


_PRONOUNS_OR_ADVERBS_ETC = _PRONOUNS | _ADVERBS | _NEGATIONS
