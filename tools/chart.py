"""Checks the chart of deploy/helm with helm, and what it renders against the schemas of Kubernetes.

    python tools/chart.py

Needs the dependency group `chart`: helm itself, in a wheel, and the schemas. Objects of operators
(CloudNativePG, Prometheus) have no schema there: of these only the kind is printed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import kubernetes_validate
import yaml

CHART = Path(__file__).resolve().parents[1] / "deploy" / "helm" / "memorywire"
VERSIONS = ("1.29", "1.33")
OF_OPERATORS = {"Cluster", "ServiceMonitor", "PrometheusRule"}
CHOICES = (
    ("postgres.operator=true", "postgres.operator=false,postgres.secret.name=database"),
    ("autoscaling.enabled=false", "autoscaling.enabled=true,autoscaling.requestsNow=20"),
    ("monitoring.enabled=false", "monitoring.enabled=true"),
    ("networkPolicy.enabled=true", "networkPolicy.enabled=false,firstOperator=false"),
    (
        "volume.size=1Gi",
        "volume.storageClass=fast,allowedHosts={a.example.org},environment.MEMORYWIRE_POLICY=strict",
    ),
)
REFUSED = ("postgres.operator=false", "replicas=0", "postgres.instance=3", "environment.MEMORYWIRE_FLOOR=1")


def main() -> None:
    kinds: Counter[str] = Counter()
    print(helm("lint", "--strict"))
    for choice in itertools.product(*CHOICES):
        options = [word for values in choice for word in ("--set", values)]
        for document in yaml.safe_load_all(helm("template", "--namespace", "agents", *options)):
            kinds[document["kind"]] += 1
            if document["kind"] not in OF_OPERATORS:
                for version in VERSIONS:
                    kubernetes_validate.validate(document, version, strict=True)
    for values in REFUSED:
        if run("template", "--set", values).returncode == 0:
            raise SystemExit(f"helm accepts {values}")
    print(f"{2 ** len(CHOICES)} renderings, valid for Kubernetes {', '.join(VERSIONS)}: {dict(kinds)}")


def helm(*arguments: str) -> str:
    done = run(*arguments)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def run(verb: str, *options: str) -> subprocess.CompletedProcess[str]:
    name = ["memory"] if verb == "template" else []
    command = [Path(sys.executable).with_name("helm"), verb, *name, CHART, *options]
    return subprocess.run(command, capture_output=True, text=True)


if __name__ == "__main__":
    main()
