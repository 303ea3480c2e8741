"""Drives the benchmark programs and reports what they measured.

cli      arguments and exit codes
cases    what a case is made of; one module a case (write, step)
program  one benchmark program under mpirun
measure  rounds of all contestants, interleaved
figures  medians, quartiles, ratios
report   table, JSON, plot
page     all results as one page of HTML; charts, its pictures
mount    bench/contended, for as long as a case runs
host     facts of the machine that belong beside every figure
"""
