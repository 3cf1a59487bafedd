"""Which bucket an agent is in: the same here and in SQL, where a row filter may only use what is built in."""

from hashlib import md5

from memorywire.stores.postgres.rows import kept

BUCKETS = 1024


def bucket_of(agent: str) -> int:
    digest = md5(kept(agent).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:2], "big") % BUCKETS


def in_bucket(bucket: int, agent: str = "agent") -> str:
    """The condition, in SQL, that the agent named by a column is in the bucket."""
    high, low = (f"get_byte(decode(md5({agent}), 'hex'), {place})" for place in (0, 1))
    return f"((({high} * 256 + {low}) & {BUCKETS - 1}) = {bucket})"
