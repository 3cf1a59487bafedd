"""The files of the forge agree with the repository; `make forge` checks them by their schemas."""

import re
import tomllib

import pytest
import yaml

from tests.gates.source import ROOT

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
_TARGET = re.compile(r"\bmake ([a-z-]+)")


def _jobs(name: str) -> dict:
    return yaml.safe_load((FORGE / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))["jobs"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_name_their_version(workflow):
    uses = re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
    assert uses
    assert [one for one in uses if not _PINNED.fullmatch(one)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_rights_and_its_commands_exist(workflow):
    text = workflow.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(_TARGET.findall(text)) <= targets


def test_every_python_is_tested_on_every_system():
    jobs = _jobs("test")
    tested = [jobs[name] for name in ("linux", "portable", "windows")]
    assert all(job["strategy"]["matrix"]["python"] == PYTHONS for job in tested)
    assert jobs["portable"]["strategy"]["matrix"]["runner"] == ["ubuntu-24.04-arm", "macos-15"]
    for project in ROOT.glob("packages/*/pyproject.toml"):
        assert tomllib.loads(project.read_text(encoding="utf-8"))["project"]["requires-python"] == ">=3.11"


def test_only_the_job_that_publishes_may_sign():
    jobs = _jobs("release")
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    publish = jobs["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert set(publish["needs"]) == set(jobs) - {"publish"}
    assert publish["steps"][-1]["with"]["attestations"] is True


def test_owners_own_what_exists():
    lines = (FORGE / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    owned = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert owned[0] == "*"
    assert [path for path in owned[1:] if not (ROOT / path.strip("/")).is_dir()] == []


def test_the_files_that_people_look_for_are_there():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", ".pre-commit-config.yaml"):
        assert (ROOT / name).stat().st_size > 200
