"""The Merkle tree of a growing log (RFC 9162, section 2.1): roots, proofs and their verification."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import Struct

HASH_BYTES = 32
EMPTY = sha256(b"").digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


class Edge(Struct, frozen=True):
    """The roots of the full subtrees of a log, largest first: enough to append more leaves."""

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def grow(self, leaves: Iterable[bytes]) -> "Edge":
        """Return the edge after appending these leaf hashes."""
        size, nodes = self.size, list(self.nodes)
        for node in leaves:
            merges = size
            while merges & 1:
                node = node_hash(nodes.pop(), node)
                merges >>= 1
            nodes.append(node)
            size += 1
        return Edge(size, tuple(nodes))

    @property
    def root(self) -> bytes:
        if not self.nodes:
            return EMPTY
        *lefts, root = self.nodes
        for left in reversed(lefts):
            root = node_hash(left, root)
        return root


class Tree:
    """A whole log, for proofs: the hashes of every full subtree, level by level."""

    def __init__(self, leaves: Iterable[bytes]) -> None:
        self._levels = [bytearray(b"".join(leaves))]
        while len(self._levels[-1]) >= 2 * HASH_BYTES:
            self._levels.append(_parents(self._levels[-1]))

    def __len__(self) -> int:
        return len(self._levels[0]) // HASH_BYTES

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves."""
        return self._hash(0, size) if size else EMPTY

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the proof that leaf `index` (from 0) is in the tree of the first `size` leaves."""
        start, path = 0, []
        while size - start > 1:
            middle = start + _split(size - start)
            if index < middle:
                path.append(self._hash(middle, size))
                size = middle
            else:
                path.append(self._hash(start, middle))
                start = middle
        return path[::-1]

    def consistency(self, older: int, size: int) -> list[bytes]:
        """Return the proof that the tree of the first `older` leaves is a prefix of that of `size`."""
        start, path, whole = 0, [], True
        if not 0 < older < size:
            return []
        while older < size:
            middle = start + _split(size - start)
            if older <= middle:
                path.append(self._hash(middle, size))
                size = middle
            else:
                path.append(self._hash(start, middle))
                start, whole = middle, False
        return ([] if whole else [self._hash(start, size)]) + path[::-1]

    def _hash(self, start: int, end: int) -> bytes:
        """Return the root of leaves `start` to `end`; `start` must be aligned to the largest subtree."""
        count = end - start
        if count & (count - 1) == 0:
            level = count.bit_length() - 1
            at = (start >> level) * HASH_BYTES
            return bytes(self._levels[level][at : at + HASH_BYTES])
        middle = start + _split(count)
        return node_hash(self._hash(start, middle), self._hash(middle, end))


def root_from_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Compute the root from a proof (RFC 9162, 2.1.3.2), or None for a proof of the wrong shape."""
    if not 0 <= index < size:
        return None
    node, last = leaf, size - 1
    for beside in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            node = node_hash(beside, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = node_hash(node, beside)
        index, last = index >> 1, last >> 1
    return node if last == 0 else None


def is_consistent(older: int, older_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Return whether a proof shows that one tree is a prefix of the other (RFC 9162, 2.1.4.2)."""
    if older == size or older == 0:
        return not path and (older_root == root if older == size else older_root == EMPTY)
    if not 0 < older < size or not path:
        return False
    steps = [older_root, *path] if older & (older - 1) == 0 else list(path)
    index, last = older - 1, size - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    before = after = steps[0]
    for beside in steps[1:]:
        if last == 0:
            return False
        if index & 1 or index == last:
            before, after = node_hash(beside, before), node_hash(beside, after)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            after = node_hash(after, beside)
        index, last = index >> 1, last >> 1
    return last == 0 and before == older_root and after == root


def _split(count: int) -> int:
    """The largest power of two below a count."""
    return 1 << (count - 1).bit_length() - 1


def _parents(level: bytearray) -> bytearray:
    pair = 2 * HASH_BYTES
    whole = len(level) // pair * pair
    return bytearray(b"".join(sha256(b"\1" + level[at : at + pair]).digest() for at in range(0, whole, pair)))
