"""Scrubbing, secrets and screening on labelled sets, each beside its baseline.

    python -m benchmarks.text_quality --eval PATH/TO/text_eval.py

The script and its sets are not part of this project; it scores a module:callable and has baselines built in.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

RUNS = (
    ("personal data, pattern types", ("--task", "pii", "--pattern-only"), "regex", "pii"),
    ("personal data, every type, preset strict", ("--task", "pii"), "regex", "pii_strict"),
    ("secrets", ("--task", "secrets"), "detect-secrets", "secrets"),
    ("poisoned writes", ("--task", "poison"), "keywords", "poison"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, required=True, help="the scoring script")
    parser.add_argument("--show", type=int, default=0, help="mistakes to print")
    arguments = parser.parse_args()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    for title, options, baseline, ours in RUNS:
        threshold = ("--threshold", "0.7") if ours == "poison" else ()
        for name, system, more in (
            (f"baseline {baseline}", baseline, ()),
            ("ours", f"benchmarks.text_systems:{ours}", threshold),
        ):
            print(f"\n## {title}: {name}", flush=True)
            command = [sys.executable, str(arguments.eval), *options, "--system", system, *more]
            subprocess.run([*command, "--show", str(arguments.show)], env=environment, check=True)


if __name__ == "__main__":
    main()
