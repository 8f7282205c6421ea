#!/usr/bin/env python3
"""A page with plots of what `--json` of `./dev bench` and `./dev bench ops` wrote: the ratio of every case by family, the roofline of the kernels, and a table.

usage: page.py FIGURES.json [FIGURES.json ...] PAGE.html

The page is one file without scripts. A figure of a case shows when the pointer rests on it.
"""
import html
import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 900, 420
COLOURS = ["#3566a8", "#c0503a", "#4c9150", "#8a5aa8", "#b58a1f", "#3d9aa8", "#9a4b78", "#666666"]
STYLE = """body { font: 15px/1.5 sans-serif; max-width: 940px; margin: 2em auto; padding: 0 1em; color: #222 }
svg { width: 100%; height: auto } text { font: 12px sans-serif; fill: #444 } td, th { padding: 0 .8em; text-align: right }
td:first-child, th:first-child { text-align: left } table { border-collapse: collapse } tr:nth-child(even) { background: #f4f4f4 }"""


class LogAxis:
    """Places of numbers on a logarithmic axis."""

    def __init__(self, values, begin, end):
        self.low = math.floor(math.log10(min(values)) * 2) / 2
        self.high = max(self.low + 0.5, math.ceil(math.log10(max(values)) * 2) / 2)
        self.begin, self.end = begin, end

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + min(1, max(0, part)) * (self.end - self.begin)

    def ticks(self):
        steps = [10**power * digit for power in range(math.floor(self.low), math.ceil(self.high) + 1) for digit in (1, 2, 5)]
        return [step for step in steps if self.low - 1e-9 <= math.log10(step) <= self.high + 1e-9]


def line(x1, y1, x2, y2, colour="#ddd", more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def text(x, y, content, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(content)}</text>'


def dot(x, y, colour, title):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity=".65"><title>{html.escape(title)}</title></circle>'


def svg(parts, height=HEIGHT):
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratio_plot(cases):
    """A line of dots for each family; the stroke is its geometric mean, 1 is as fast as the best peer."""
    families = sorted({case["family"] for case in cases})
    height = 40 + 26 * len(families)
    axis = LogAxis([case["ratio"] for case in cases] + [1], 150, WIDTH - 20)
    parts = [line(axis.at(tick), 10, axis.at(tick), height - 24) + text(axis.at(tick), height - 8, f"{tick:g}") for tick in axis.ticks()]
    parts.append(line(axis.at(1), 10, axis.at(1), height - 24, "#222"))
    for row, family in enumerate(families):
        y = 24 + 26 * row
        members = [case for case in cases if case["family"] == family]
        mean = axis.at(geometric_mean([case["ratio"] for case in members]))
        parts.append(text(140, y + 4, f"{family} ({len(members)})", "end") + line(mean, y - 10, mean, y + 10, "#222", 'stroke-width="3"'))
        parts += [dot(axis.at(case["ratio"]), y, COLOURS[row % len(COLOURS)], f"{case['name']}: {case['ratio']:.2f}") for case in members]
    return svg(parts, height)


def roofline(cases):
    """Kernels by their operations a byte and their speed, below what the machine does at most."""
    kernels = [
        (kernel["flops"] / kernel["bytes"], kernel["flops"] / kernel["nanoseconds"], f"{case['name']}: {kernel['source_node']}")
        for case in cases
        for kernel in case["kernels"]
        if kernel["flops"] > 0 and kernel["bytes"] > 0 and kernel["nanoseconds"] > 0
    ]
    machine = cases[0]["machine"]
    peak = machine["gflops"]["f32"]
    bandwidths = [entry["gbytes_per_s"] for entry in machine["bandwidths"]]
    if not kernels or not bandwidths:
        return "<p>Nobody measured the machine.</p>"
    x = LogAxis([kernel[0] for kernel in kernels], 60, WIDTH - 20)
    y = LogAxis([kernel[1] for kernel in kernels] + [peak], HEIGHT - 40, 14)
    parts = [line(x.at(tick), 14, x.at(tick), HEIGHT - 40) + text(x.at(tick), HEIGHT - 24, f"{tick:g}") for tick in x.ticks()]
    parts += [line(60, y.at(tick), WIDTH - 20, y.at(tick)) + text(54, y.at(tick) + 4, f"{tick:g}", "end") for tick in y.ticks()]
    parts += [text(WIDTH / 2, HEIGHT - 6, "operations a byte"), text(66, 10, "GFLOP/s", "start")]
    for bandwidth in (max(bandwidths), min(bandwidths)):  # the nearest cache, and memory
        begin, ridge = 10**x.low, peak / bandwidth
        if ridge > begin:
            parts.append(line(x.at(begin), y.at(begin * bandwidth), x.at(ridge), y.at(peak), "#222"))
    parts.append(line(x.at(peak / max(bandwidths)), y.at(peak), WIDTH - 20, y.at(peak), "#222"))
    parts += [dot(x.at(a), y.at(b), COLOURS[0], f"{name}: {b:.1f} GFLOP/s") for a, b, name in kernels]
    return svg(parts)


def table(cases):
    peers = sorted({name for case in cases for name in case["best_ms"]} - {"tvm-vm"})
    head = "".join(f"<th>{html.escape(name)} ms</th>" for name in ["tvm-vm", *peers])
    rows = ""
    for case in sorted(cases, key=lambda case: case["ratio"]):
        times = "".join(f"<td>{case['best_ms'][name]:.4f}</td>" if name in case["best_ms"] else "<td></td>" for name in ["tvm-vm", *peers])
        limit = f"{case['limit'] * 100:.0f} %" if case["limit"] is not None else ""
        rows += f"<tr><td>{html.escape(case['name'])}</td>{times}<td>{case['ratio']:.2f}</td><td>{limit}</td></tr>\n"
    return f"<table><tr><th>case</th>{head}<th>ratio</th><th>of its limit</th></tr>\n{rows}</table>"


def section(figures):
    cases = [case for case in figures["cases"] if case["ratio"]]
    threads = figures["threads"]
    title = f"<h2>{threads} thread{'s' if threads != 1 else ''}</h2>"
    if not cases:
        return title + "<p>No peer is installed: there is nothing to compare.</p>"
    ratios = [case["ratio"] for case in cases]
    machine = cases[0]["machine"]
    wrong = "".join(f"<li>{html.escape(case['name'])}: {html.escape(case['problem'])}</li>" for case in figures["wrong"])
    return f"""{title}
<p>{len(cases)} cases on {html.escape(machine['cpu'])}, {html.escape(machine['level'])}; {len(figures['wrong'])} wrong. The best peer's time by
tvm-vm's: geometric mean {geometric_mean(ratios):.2f}, {sum(ratio < 1 for ratio in ratios)} below 1.</p><ul>{wrong}</ul>
<h3>Times faster than the best peer</h3>{ratio_plot(cases)}
<h3>Roofline of the kernels</h3>{roofline(cases)}
<h3>Cases</h3>{table(cases)}"""


def page(all_figures):
    body = "\n".join(section(figures) for figures in all_figures)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>tvm-vm beside peers</title><style>{STYLE}</style>\n<h1>tvm-vm beside peers</h1>\n{body}</html>\n'


def main():
    if len(sys.argv) < 3 or not sys.argv[-1].endswith(".html"):
        sys.exit(__doc__.split("\n\n")[1])
    figures = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:-1]]
    pathlib.Path(sys.argv[-1]).write_text(page(figures))


if __name__ == "__main__":
    main()
