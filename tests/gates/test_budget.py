"""Files and functions stay short enough to be read in one go."""

from tests.gates.source import FOLDERS, PRODUCT, ROOT, functions, python_files, shown

FILE_LINES = 600
FUNCTION_LINES = 60
FUNCTION_P95 = 35
AGENTS_LINES = 120


def test_no_file_is_longer_than_the_budget():
    files = [path for path in python_files() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.sql")]
    long = {
        shown(path): count for path in files if (count := len(path.read_bytes().splitlines())) > FILE_LINES
    }
    assert files
    assert not long


def test_functions_of_the_package_are_short():
    sizes = sorted((size, name) for path in python_files(*PRODUCT) for name, size in functions(path))
    assert sizes
    assert sizes[-1][0] <= FUNCTION_LINES, sizes[-1]
    assert sizes[len(sizes) * 95 // 100][0] < FUNCTION_P95, sizes[len(sizes) * 95 // 100 :]


def test_the_guide_for_newcomers_fits_in_its_budget():
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) < AGENTS_LINES
