#!/usr/bin/env python3
"""Draws the pictures of costs in docs/performance.md from figures that were measured.

usage: docs/pictures/draw_costs.py FILE..     FILE: what `./dev bench` and `./dev bench scale` print, or keep in build/figures
"""
import math
import re
import sys

from picture import COLOURS, INK, PALE, Picture

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 80, 600, 50, 330, 425


def read_figures(files):
    """Of each name the last value, in microseconds."""
    values = {}
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                if found := re.match(r"figure (\S+) (\S+) us$", line):
                    values[found[1]] = float(found[2])
    return values


def series(values, pattern):
    """(size, microseconds) of the figures whose name matches; its one group is the size."""
    points = []
    for name, value in values.items():
        if found := re.fullmatch(pattern, name):
            points.append((int(found[1]), value))
    if not points:
        sys.exit(f"no figure is named like {pattern}")
    return sorted(points)


def powers(values):
    """The powers of ten around them, as exponents."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def draw(name, title, along, lines):
    """Lines over sizes, both axes by powers of ten."""
    picture = Picture(title, HEIGHT)
    picture.text(LEFT, 24, title, size=15)
    across = powers([x for _, points in lines for x, _ in points])
    up = powers([y for _, points in lines for _, y in points])

    def place(x, y):
        share_x = (math.log10(x) - across[0]) / (across[-1] - across[0])
        share_y = (math.log10(y) - up[0]) / (up[-1] - up[0])
        return LEFT + share_x * (RIGHT - LEFT), BOTTOM - share_y * (BOTTOM - TOP)

    for exponent in up:
        _, y = place(10 ** across[0], 10**exponent)
        picture.line(LEFT, y, RIGHT, y, PALE)
        picture.text(LEFT - 8, y + 4, f"{10**exponent:,.16g} µs", "end", 12)
    for exponent in across:
        x, _ = place(10**exponent, 10 ** up[0])
        picture.line(x, TOP, x, BOTTOM, PALE)
        picture.text(x, BOTTOM + 18, f"{10**exponent:,}", "middle", 12)
    picture.line(LEFT, BOTTOM, RIGHT, BOTTOM)
    picture.text(RIGHT, BOTTOM + 34, along, "end", 12)
    for row, (colour, (label, points)) in enumerate(zip(COLOURS, lines)):
        places = [place(x, y) for x, y in points]
        for (x1, y1), (x2, y2) in zip(places, places[1:]):
            picture.line(x1, y1, x2, y2, colour, width=2)
        for (x, y), (_, value) in zip(places, points):
            picture.circle(x, y, 3.5, colour)
            picture.text(x, y + (18 if row == 0 and len(lines) > 1 else -8), f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", "middle", 11, INK)
        picture.line(LEFT, BOTTOM + 46 + 16 * row, LEFT + 22, BOTTOM + 46 + 16 * row, colour, width=3)
        picture.text(LEFT + 30, BOTTOM + 50 + 16 * row, label, size=12)
    picture.save(name)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    known = read_figures(sys.argv[1:])
    by_units, by_time = "BM_allocator_task_end", "BM_allocator_task_end_by_time"
    draw("cost_by_nodes.svg", "Over nodes: processor time of a task's end, and of a heartbeat", "nodes", [
        ("allocator, a task's end, 100 tenants, by units", series(known, by_units + r"/nodes:(\d+)/tenants:100")),
        ("the same, by time", series(known, by_time + r"/nodes:(\d+)/tenants:100")),
        ("whole coordinator, a heartbeat with nothing new", series(known, r"scale_idle/(\d+)\.cpu_per_heartbeat")),
    ])
    draw("cost_by_tenants.svg", "Over tenants that all wait: processor time of a task's end", "tenants", [
        ("allocator, 1,000 nodes, by units", series(known, by_units + r"/nodes:1000/tenants:(\d+)")),
        ("the same, by time", series(known, by_time + r"/nodes:1000/tenants:(\d+)")),
    ])
    draw("cost_by_waiting.svg", "Over waiting tasks: processor time of a task", "tasks that wait", [
        ("whole coordinator, a single job from its grant to its durable end", series(known, r"scale_waiting/(\d+)\.cpu_per_task")),
    ])
