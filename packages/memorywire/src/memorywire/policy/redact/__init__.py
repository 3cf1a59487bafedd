"""Secrets leave a request before it is kept, embedded or written down; findings never show them."""

from memorywire.policy.redact.redactor import Finding, Redactor, are_innocent, redact_remember, scan_record

__all__ = ["Finding", "Redactor", "are_innocent", "redact_remember", "scan_record"]
