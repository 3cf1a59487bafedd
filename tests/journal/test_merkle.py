"""The tree is that of RFC 9162, and a proof holds exactly when it should."""

from hashlib import sha256

import pytest

from memorywire.journal.ledger import leaf_hash
from memorywire.journal.merkle import (
    EMPTY,
    Edge,
    Tree,
    is_consistent,
    root_from_inclusion,
)

# The inputs and roots that Certificate Transparency implementations share.
INPUTS = [
    bytes.fromhex(text)
    for text in [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAVES = [leaf_hash(str(number).encode()) for number in range(64)]
TREE = Tree(LEAVES)
OTHER = sha256(b"other").digest()


def test_the_roots_are_those_of_the_shared_vectors():
    leaves = [leaf_hash(one) for one in INPUTS]
    tree, edge = Tree(leaves), Edge()
    assert edge.root == tree.root(0) == EMPTY
    for size, expected in enumerate(ROOTS, 1):
        edge = edge.grow(leaves[size - 1 : size])
        assert edge.root.hex() == expected
        assert tree.root(size).hex() == expected


def test_an_edge_that_grows_in_pieces_has_the_root_of_the_whole():
    for size in range(65):
        for cut in range(size + 1):
            assert Edge().grow(LEAVES[:cut]).grow(LEAVES[cut:size]).root == TREE.root(size)


def test_every_leaf_of_every_tree_is_proven_and_nothing_else_is():
    for size in range(1, 65):
        root = TREE.root(size)
        for index in range(size):
            path = TREE.inclusion(index, size)
            assert root_from_inclusion(LEAVES[index], index, size, path) == root
            assert root_from_inclusion(OTHER, index, size, path) != root
            assert root_from_inclusion(LEAVES[index], (index + 1) % size, size, path) != root or size == 1
            assert root_from_inclusion(LEAVES[index], index, size, [*path, OTHER]) != root
            if path:
                assert root_from_inclusion(LEAVES[index], index, size, path[:-1]) != root
                assert root_from_inclusion(LEAVES[index], index, size, [OTHER, *path[1:]]) != root


def test_every_tree_is_proven_to_grow_out_of_every_smaller_one_and_out_of_no_other():
    for size in range(1, 65):
        root = TREE.root(size)
        for older in range(size + 1):
            before, path = TREE.root(older), TREE.consistency(older, size)
            assert is_consistent(older, before, size, root, path)
            assert not is_consistent(older, OTHER, size, root, path)
            assert not is_consistent(older, before, size, root, [*path, OTHER])
            if older > 0:
                assert not is_consistent(older, before, size, OTHER, path)
            if path:
                assert not is_consistent(older, before, size, root, path[:-1])
                assert not is_consistent(older, before, size, root, [*path[:-1], OTHER])


@pytest.mark.parametrize(("index", "size"), [(-1, 4), (4, 4), (0, 0)])
def test_a_place_outside_of_the_tree_is_never_proven(index: int, size: int):
    assert root_from_inclusion(LEAVES[0], index, size, TREE.inclusion(0, 4)) is None


def test_a_smaller_tree_does_not_grow_out_of_a_larger_one():
    assert not is_consistent(8, TREE.root(8), 4, TREE.root(4), TREE.consistency(4, 8))
