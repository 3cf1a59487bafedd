"""A report in the forms people and machines read: lines, JSON, JUnit, a page, a badge."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from xml.sax.saxutils import quoteattr

from memorywire.model.record import Json
from memorywire.testing.run import Mark, Report, Result

_COLOURS = {True: "#2e7d32", False: "#c62828"}


def joined(reports: Sequence[Report]) -> Report:
    """Several examinations of one store as one."""
    return Report(store=reports[0].store, results=tuple(r for report in reports for r in report.results))


def counts(report: Report) -> dict[str, int]:
    found = Counter(result.mark for result in report.results)
    return {mark.value: found[mark] for mark in Mark}


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
    """What did not simply pass, and the sum."""
    for one in report.results:
        if one.mark is not Mark.PASSED:
            yield f"{one.mark.value:8} {_sentence(one.check)}: {one.detail}"
    said = ", ".join(f"{count} {mark}" for mark, count in counts(report).items() if count)
    yield f"{report.store}: {said}"


def as_junit(report: Report) -> str:
    """The form that build servers show."""
    found = counts(report)
    left_out = found[Mark.SKIPPED] + found[Mark.EXEMPT]
    cases = "\n".join(_case(report.store, one) for one in report.results)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name={quoteattr(f"conformance of {report.store}")} tests="{len(report.results)}" '
        f'failures="{found[Mark.FAILED]}" skipped="{left_out}">\n{cases}\n</testsuite>\n'
    )


def _case(store: str, one: Result) -> str:
    named = f"  <testcase classname={quoteattr(f'{store}.{one.group}')} name={quoteattr(one.check)}"
    kind = {Mark.FAILED: "failure", Mark.SKIPPED: "skipped", Mark.EXEMPT: "skipped"}.get(one.mark)
    return (
        f"{named}/>"
        if kind is None
        else f"{named}><{kind} message={quoteattr(one.detail or '')}/></testcase>"
    )


def as_html(report: Report) -> str:
    """One page that needs nothing else."""
    rows = "\n".join(
        f'<tr class="{one.mark.value}"><td>{escape(one.group)}</td><td>{escape(_sentence(one.check))}</td>'
        f"<td>{one.mark.value}</td><td>{escape(one.detail or '')}</td></tr>"
        for one in report.results
    )
    said = ", ".join(f"{count} {mark}" for mark, count in counts(report).items())
    title = f"Conformance of {escape(report.store)}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
.failed td:nth-child(3) {{ color: {_COLOURS[False]}; font-weight: 600; }}
.passed td:nth-child(3) {{ color: {_COLOURS[True]}; }}
</style></head><body><h1>{title}</h1><p>{said}</p>
<table><thead><tr><th>Group</th><th>Claim</th><th>Mark</th><th>Detail</th></tr></thead><tbody>
{rows}
</tbody></table></body></html>
"""


def badge(report: Report) -> str:
    """A small picture: how many of the checks that apply hold."""
    found = counts(report)
    total = found[Mark.PASSED] + found[Mark.FAILED]
    said, colour = f"{found[Mark.PASSED]}/{total}", _COLOURS[report.passed]
    left, right = 150, 8 * len(said) + 12
    width = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="memorywire conformance: {said}">'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left // 2}" y="14">memorywire conformance</text>'
        f'<text x="{left + right // 2}" y="14">{said}</text></g></svg>\n'
    )


def _sentence(check: str) -> str:
    return check.replace("_", " ")
