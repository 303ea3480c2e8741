"""Drives the benchmark programs and reports what they measured.

cli      arguments and exit codes
cases    what a case is made of; one module a case (write, step)
program  one benchmark program under mpirun
measure  rounds of all contestants, interleaved
figures  medians, quartiles, ratios
report   table, JSON, plot
host     facts of the machine that belong beside every figure
"""
