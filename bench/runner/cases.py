"""What a case is made of. A case module has

NAME, HELP
add_arguments(parser)
contestants(options)      the list, in the order in which a round runs them
file_bytes(options)       the largest file that stands at one time
caption(options)          what was measured, in sentences
ROUNDS                    how many, unless told
METRICS                   the columns: {name: Metric}
value(metric, contestant, values, options)
                          a metric of one measurement, None where the contestant has none
remarks(result, options)  lines under the table: goals met or not, what was unusual
SHOWS_RATIOS              False where a table of every ratio would be too long; optional
STRATEGIES                Sluice's, unless told; optional
RANKS                     how many, unless told; optional
place(options)            a context in which it runs, and which may change options.on; optional
observe(options)          {name: number} before and after every job: what has been added to each
                          is one of its values; optional
plot(case, document, folder, stem, repository)
                          instead of report.plot; optional
FOLDERS                   {program: its folder in the build}, where not bench; optional
Program                   instead of program.Program, with the same members; optional
"""

import argparse
from dataclasses import dataclass, field


STRATEGIES = ["shared", "serial"]  # of a case that says nothing else


@dataclass(frozen=True)
class Contestant:
    """One way to do the case's work."""

    name: str
    program: str  # the executable that holds it
    job: str  # its name there
    parameters: dict = field(default_factory=dict)
    group: str = ""  # ratios are taken within a group
    ours: bool = False  # Sluice, to be compared with the others
    only: tuple = ()  # metrics in which it is compared; empty: all
    environment: tuple = ()  # (name, value) pairs for its program; one process for each set
    ranks: int = 0  # of its program; 0: as many as --ranks says

    @property
    def process(self):
        return (self.program, self.environment, self.ranks)


@dataclass(frozen=True)
class Metric:
    """One column of the table."""

    unit: str
    digits: int
    larger_is_better: bool


def at_least(least):
    """A type for argparse: an integer that is not below `least`."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}: {text}")
        return value

    return number
