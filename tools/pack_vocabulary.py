"""Builds the hash table of the word pieces of `memorywire-minilm`, and prints its digest.

python tools/pack_vocabulary.py
"""

import hashlib
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "packages" / "memorywire-minilm" / "src"


def main() -> None:
    sys.path.insert(0, str(PACKAGE))  # the package need not be installed to build its data
    from memorywire_minilm.vocabulary import build_table

    data = PACKAGE / "memorywire_minilm" / "data"
    table = build_table((data / "vocab.txt").read_bytes())
    (data / "vocab.bin").write_bytes(table)
    print(hashlib.sha256(table).hexdigest())


if __name__ == "__main__":
    main()
