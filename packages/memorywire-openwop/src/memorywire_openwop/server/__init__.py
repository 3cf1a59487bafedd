"""The OpenWOP host over HTTP."""
