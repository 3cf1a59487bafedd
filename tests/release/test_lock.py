"""The lock of the image fits our packages, and names no address."""

import importlib.util
import re
from types import ModuleType

import pytest

from tests.gates.source import ROOT


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("image_lock", ROOT / "tools" / "lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_of_the_image_is_locked(lock: ModuleType) -> None:
    assert len(lock.requirements()) > 10
    assert lock.check(lock.TARGET.read_text(encoding="utf-8")) == []


def test_a_requirement_that_the_lock_does_not_meet_is_noticed(lock: ModuleType) -> None:
    text = lock.TARGET.read_text(encoding="utf-8")
    numpy = [one for one in lock.requirements() if one.startswith("numpy")]
    assert numpy
    assert lock.check(re.sub(r"^numpy==\S+", "numpy==1.0", text, flags=re.MULTILINE)) == numpy
    assert lock.check(re.sub(r"^numpy==", "other==", text, flags=re.MULTILINE)) == numpy


def test_the_lock_has_a_hash_for_each_version_and_no_address(lock: ModuleType) -> None:
    text = lock.TARGET.read_text(encoding="utf-8")
    pins = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(pins) > 30
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert "://" not in text
    assert "--index" not in text
