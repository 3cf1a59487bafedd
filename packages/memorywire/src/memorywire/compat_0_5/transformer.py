"""`memorywire.transformer` of 0.5.0."""

from memorywire.compat_0_5 import earlier_name as __getattr__

__all__ = ["__getattr__"]
