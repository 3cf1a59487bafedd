"""Results of checks, and a report of them as lines, JSON, JUnit, HTML or a badge."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from enum import StrEnum
from html import escape
from xml.sax.saxutils import quoteattr

from msgspec import Struct

from memorywire.model.record import Json
from memorywire_testing.expect import Broken, place


class Mark(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXEMPT = "exempt"


class Result(Struct, frozen=True, kw_only=True):
    """The result of one check; `detail` has the failure, missing features or an exemption."""

    check: str
    mark: Mark
    detail: str | None = None
    group: str = "contract"


class Report(Struct, frozen=True, kw_only=True):
    store: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Result, ...]:
        return self.marked(Mark.FAILED)

    def marked(self, mark: Mark) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.mark is mark)


async def attempt(name: str, run: Callable[[], Awaitable[object]], group: str = "contract") -> Result:
    """Run one claim about a store and return its result."""
    try:
        await run()
    except Broken as broken:
        text = f"{broken}{place(broken)}"
        return Result(check=name, mark=Mark.FAILED, detail=text, group=group)
    except Exception as error:  # noqa: BLE001 - the store is foreign code: any error is a finding
        text = f"{type(error).__name__}: {error}{place(error)}"
        return Result(check=name, mark=Mark.FAILED, detail=text, group=group)
    return Result(check=name, mark=Mark.PASSED, group=group)


_COLOURS = {True: "#2e7d32", False: "#c62828"}


def join_reports(reports: Sequence[Report]) -> Report:
    """Join several reports about the same store into one."""
    return Report(store=reports[0].store, results=tuple(r for report in reports for r in report.results))


def counts(report: Report) -> dict[str, int]:
    results = Counter(result.mark for result in report.results)
    return {mark.value: results[mark] for mark in Mark}


def document(report: Report) -> dict[str, Json]:
    return {
        "store": report.store,
        "passed": report.passed,
        "counts": counts(report),
        "results": [
            {"group": one.group, "check": one.check, "mark": one.mark.value, "detail": one.detail}
            for one in report.results
        ],
    }


def as_json(report: Report) -> str:
    return json.dumps(document(report), ensure_ascii=False, indent=2) + "\n"


def lines(report: Report) -> Iterator[str]:
    """Yield a line for each result that is not `passed`, and one with the counts."""
    for one in report.results:
        if one.mark is not Mark.PASSED:
            yield f"{one.mark.value:8} {_sentence(one.check)}: {one.detail}"
    text = ", ".join(f"{count} {mark}" for mark, count in counts(report).items() if count)
    yield f"{report.store}: {text}"


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML."""
    results = counts(report)
    left_out = results[Mark.SKIPPED] + results[Mark.EXEMPT]
    cases = "\n".join(_case(report.store, one) for one in report.results)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name={quoteattr(f"conformance of {report.store}")} tests="{len(report.results)}" '
        f'failures="{results[Mark.FAILED]}" skipped="{left_out}">\n{cases}\n</testsuite>\n'
    )


def _case(store: str, one: Result) -> str:
    name = f"  <testcase classname={quoteattr(f'{store}.{one.group}')} name={quoteattr(one.check)}"
    kind = {Mark.FAILED: "failure", Mark.SKIPPED: "skipped", Mark.EXEMPT: "skipped"}.get(one.mark)
    return (
        f"{name}/>" if kind is None else f"{name}><{kind} message={quoteattr(one.detail or '')}/></testcase>"
    )


def as_html(report: Report) -> str:
    """Return the report as one self-contained HTML page."""
    rows = "\n".join(
        f'<tr class="{one.mark.value}"><td>{escape(one.group)}</td><td>{escape(_sentence(one.check))}</td>'
        f"<td>{one.mark.value}</td><td>{escape(one.detail or '')}</td></tr>"
        for one in report.results
    )
    text = ", ".join(f"{count} {mark}" for mark, count in counts(report).items())
    title = f"Conformance of {escape(report.store)}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
.failed td:nth-child(3) {{ color: {_COLOURS[False]}; font-weight: 600; }}
.passed td:nth-child(3) {{ color: {_COLOURS[True]}; }}
</style></head><body><h1>{title}</h1><p>{text}</p>
<table><thead><tr><th>Group</th><th>Claim</th><th>Mark</th><th>Detail</th></tr></thead><tbody>
{rows}
</tbody></table></body></html>
"""


def badge(report: Report) -> str:
    """Return an SVG badge with the number of checks that pass, of those that apply."""
    results = counts(report)
    total = results[Mark.PASSED] + results[Mark.FAILED]
    text, colour = f"{results[Mark.PASSED]}/{total}", _COLOURS[report.passed]
    others, right = 150, 8 * len(text) + 12
    width = others + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="memorywire conformance: {text}">'
        f'<rect width="{others}" height="20" fill="#444"/>'
        f'<rect x="{others}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{others // 2}" y="14">memorywire conformance</text>'
        f'<text x="{others + right // 2}" y="14">{text}</text></g></svg>\n'
    )


def _sentence(check: str) -> str:
    return check.replace("_", " ")
