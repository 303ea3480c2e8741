"""Medians, quartiles and ratios of repeated measurements."""

import statistics


def summary(samples):
    """min, lower quartile, median, upper quartile and max of at least one sample."""
    if len(samples) == 1:
        lower = upper = samples[0]
    else:
        lower, _, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return {
        "min": min(samples),
        "q1": lower,
        "median": statistics.median(samples),
        "q3": upper,
        "max": max(samples),
    }


def ratio(ours, theirs):
    """Two ratios of samples taken in the same rounds: of the medians, and the median of the
    ratios round by round, which a slow spell of the machine touches less."""
    return {
        "of_medians": statistics.median(ours) / statistics.median(theirs),
        "pairwise_median": statistics.median(a / b for a, b in zip(ours, theirs, strict=True)),
    }


def verdict(what, figure, goal, at_most=False):
    """One line: is the goal met?"""
    met = figure <= goal if at_most else figure >= goal
    sign = "<=" if at_most else ">="
    return f"goal: {what}: {figure:.2f}, {'met' if met else 'not met'} ({sign} {goal:g})"
