"""Lock the file, say whether that went, and keep it until standard input ends."""

import os
import sys
from pathlib import Path

from memorywire.runtime.files import lock, open_private

handle = open_private(Path(sys.argv[1]), os.O_CREAT | os.O_RDWR)
print("held" if lock(handle, float(sys.argv[2])) else "refused", flush=True)
sys.stdin.read()
