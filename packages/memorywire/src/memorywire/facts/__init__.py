"""Extracts facts from sentences: the kind of a memory, and a person's statements about themselves.

`facts.reader` reads statements, and `facts.retractions` reads retractions. Both are imported on first use,
because compiling their grammar takes longer than most commands run.
"""

from memorywire.facts.kinds import label_text
from memorywire.facts.labels import is_pinned, label_record, pin_record, read_label, replaces
from memorywire.facts.words import SINGLE
from memorywire.model.label import MARK, Kind, Label

__all__ = [
    "MARK",
    "SINGLE",
    "Kind",
    "Label",
    "is_pinned",
    "label_record",
    "label_text",
    "pin_record",
    "read_label",
    "replaces",
]
