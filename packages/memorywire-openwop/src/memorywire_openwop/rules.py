"""What an OpenWOP host promises, one name each, so that a test can see what breaks without it."""

from enum import StrEnum
from typing import Final


class Rule(StrEnum):
    """A host keeps all of them; only tests leave one out."""

    SNAPSHOT = "a run sees memory as it stood when the run began"
    SECRETS = "what a run's vault resolved is not kept"
    OVERLAP = "of two secrets that overlap the longer one counts"
    SECRETS_IN_TAGS = "nor is it kept in tags"
    FLOOR = "a value too short to be told from words is not registered"
    MARKERS = "markers of other hosts are spelled as ours"
    EXPIRY = "what has expired is not shown"
    FUTURE_ONLY = "nothing is kept that has expired already"
    ISOLATION = "another tenant's memory reads as empty and is not written"
    WELL_FORMED = "a reference that is none leads nowhere"
    BINDING = "a run reaches the memories it was bound to when it began"
    SIZE = "an entry is not larger than was advertised"
    OWN_IDS = "every put is an entry of its own, with an id and a moment of the host's"
    NEWEST_FIRST = "lists begin with the newest"
    BLANK_TAGS = "empty tags are dropped"
    DEFAULT_LIMIT = "a limit of 0 is no limit of its own"
    DELETION = "a deleted entry is gone for the next run"
    EVENTS = "each write of a run is told, without what it says"
    RUN_LIFE = "scratchpad and conversation end with their run"
    DEADLINE = "a run that nobody ends in time is ended by the host"
    REPLAY = "a replay tells what was told, and mints nothing"
    ERASURE = "a replay is refused when something it was shown is erased"
    DEGRADATION = "an agent that asks for more than there is says so"
    NAMES = "backends and dimensions are called as the schemas call them"
    PROFILE = "the profile follows from what is advertised"


ALL: Final = frozenset(Rule)
