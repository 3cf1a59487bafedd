"""Reads sentences for facts: what kind of fact a memory is, and what a person said about themselves.

What a person said is read by `facts.reader`, and what is taken back by `facts.retractions`. Both are imported
where they are first needed: their grammar takes longer to load than most commands take to run.
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
