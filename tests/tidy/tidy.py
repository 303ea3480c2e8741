"""Holds the tree to the rules of the project (rules.py).

    python3 tidy.py --root .                            every rule
    python3 tidy.py --root . --build build/release      and: is every .cpp compiled?
    python3 tidy.py --root . --only links --only text   some rules

Prints one line a finding, `file:line: rule: what`; exit code 1 where there is one.
"""

import argparse
import sys
from pathlib import Path

from rules import RULES
from tree import read_tree


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--build", type=Path, help="a build folder with compile_commands.json")
    parser.add_argument("--only", action="append", choices=sorted(RULES), metavar="RULE")
    arguments = parser.parse_args()

    tree = read_tree(arguments.root.resolve(), arguments.build)
    chosen = arguments.only or list(RULES)
    findings = [finding for name in chosen for finding in RULES[name](tree)]
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings in {len(tree.files)} files ({', '.join(chosen)})")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
