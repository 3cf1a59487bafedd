"""Removes secrets from a request before it is stored, embedded or logged; findings never contain them."""

from memorywire.policy.redact.redactor import Finding, Redactor, are_innocent, redact_remember, scan_record

__all__ = ["Finding", "Redactor", "are_innocent", "redact_remember", "scan_record"]
