"""Reads sentences for facts: what kind of fact a memory is, and what a person said about themselves."""

from memorywire.facts.kinds import label_text
from memorywire.facts.labels import is_pinned, label_record, pin_record, read_label, replaces
from memorywire.facts.reader import Act, Statement, read_turn
from memorywire.facts.retractions import find_slots, is_about, measure_match
from memorywire.facts.words import SINGLE
from memorywire.model.label import MARK, Kind, Label

__all__ = [
    "MARK",
    "SINGLE",
    "Act",
    "Kind",
    "Label",
    "Statement",
    "find_slots",
    "is_about",
    "is_pinned",
    "label_record",
    "label_text",
    "measure_match",
    "pin_record",
    "read_label",
    "read_turn",
    "replaces",
]
