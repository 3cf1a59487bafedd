"""Reads sentences for facts: what kind of fact a memory is, and what a person said about themselves."""

from memorywire.facts.labels import label_record, read_label
from memorywire.facts.reader import label_text
from memorywire.model.label import MARK, Kind, Label

__all__ = ["MARK", "Kind", "Label", "label_record", "label_text", "read_label"]
