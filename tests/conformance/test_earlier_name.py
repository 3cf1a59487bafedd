"""The kit answers to its name of 0.1.0 for one release."""

import subprocess
import sys

_STORY = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from memorywire.testing.samples import SPACE
    from memorywire.testing import oracle
    from memorywire.testing.expect import Broken
import memorywire_testing.expect, memorywire_testing.oracle, memorywire_testing.samples
assert SPACE is memorywire_testing.samples.SPACE
assert oracle is memorywire_testing.oracle
assert Broken is memorywire_testing.expect.Broken
print([str(one.message) for one in caught if one.category is DeprecationWarning])
"""


def test_the_kit_is_the_same_under_its_earlier_name() -> None:
    done = subprocess.run([sys.executable, "-c", _STORY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "memorywire.testing is now memorywire_testing" in done.stdout
