"""The command: one line a file; exit 0 when nothing is wrong that may not be, 1 when something is, 2 without cases."""

import argparse
import sys
from pathlib import Path

from tests.conformance.cases import CaseError
from tests.conformance.runner import KNOWN, read_known, run_folder

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the case files of a folder and print one line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with case files")
    parser.add_argument(
        "--known", type=Path, action="append", help="lists of known wrong cases instead of the own ones"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="say of each wrong case what it gave")
    options = parser.parse_args(arguments)
    try:
        known = read_known(options.known or KNOWN)
    except CaseError as error:
        print(f"list of known cases: {error}", file=sys.stderr)
        return 2
    reports = []
    for report in run_folder(options.folder, known):
        print(report.line(), flush=True)
        if options.verbose:
            for outcome in report.wrong:
                print(f"    {outcome.wrong}")
        reports.append(report)
    if not reports:
        print(f"no case files in {options.folder}", file=sys.stderr)
        return 2
    unexcused = [outcome for report in reports for outcome in report.unexcused]
    never = sum(outcome.never for outcome in unexcused)
    right = sum(len(report.run) - len(report.wrong) for report in reports)
    faults = sum(report.fault is not None for report in reports)
    print(
        f"{right} right, {sum(len(report.wrong) for report in reports)} wrong: {never} blocked capture(s) misread, "
        f"{len(unexcused) - never} not known; {faults} malformed file(s)"
    )
    return 1 if any(report.failed for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
