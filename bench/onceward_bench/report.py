"""From figures to a table, a JSON file and a chart."""
import json
import os
import platform
import statistics

from .cases import base_of
from .chart import draw

KEYS = ("rps", "cpu_us", "p50_ms", "p99_ms", "p999_ms")


def machine():
    cpu = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release().split("-")[0]}


def rows_of(cases, figures):
    median = {name: {key: statistics.median(run[key] for run in runs) for key in KEYS}
              for name, runs in figures.items() if runs}
    rows = []
    for case in cases:
        if case.name not in median:
            continue
        row = {"case": case.name, "connections": case.connections, "body_bytes": case.body, **median[case.name]}
        # On a machine that others use too, the least disturbed round is the one with the least CPU time.
        row["cpu_us_least"] = min(run["cpu_us"] for run in figures[case.name])
        speeds = [run["rps"] for run in figures[case.name]]
        row["spread"] = max(speeds) / min(speeds)
        base = median.get(base_of(case, cases))
        if base:
            # Ratios of each round's neighbours: what else the machine does falls on both.
            pairs = list(zip(figures[case.name], figures[base_of(case, cases)]))
            row["cpu_ratio"] = statistics.median(mine["cpu_us"] / max(other["cpu_us"], 1e-9) for mine, other in pairs)
            row["cpu_ratio_of_least"] = row["cpu_us_least"] / min(run["cpu_us"] for run in figures[base_of(case, cases)])
            row["rps_ratio"] = statistics.median(mine["rps"] / other["rps"] for mine, other in pairs)
        if case.budget and base:
            row["budget"] = {"cpu": case.budget[0], "rps": case.budget[1]}
            row["kept"] = row["cpu_ratio"] <= case.budget[0] and row["rps_ratio"] >= case.budget[1]
        rows.append(row)
    return rows


def print_table(rows):
    print(f"{'':<42}{'req/s':>9}{'spread':>8}{'CPU us':>8}{'p50 ms':>8}{'p99 ms':>8}{'p99.9':>8}{'least us':>9}{'CPU x':>8}{'least x':>8}{'req/s x':>9}  budget")
    for row in rows:
        ratios = " " * 25
        if "cpu_ratio" in row:
            ratios = f"{row['cpu_ratio']:>8.2f}{row['cpu_ratio_of_least']:>8.2f}{row['rps_ratio']:>9.2f}"
        verdict = ""
        if "budget" in row:
            verdict = f"<= {row['budget']['cpu']}, >= {row['budget']['rps']}: {'kept' if row['kept'] else 'MISSED'}"
        print(f"{row['case']:<42}{row['rps']:>9.0f}{row['spread']:>8.2f}{row['cpu_us']:>8.2f}{row['p50_ms']:>8.2f}"
              f"{row['p99_ms']:>8.2f}{row['p999_ms']:>8.2f}{row['cpu_us_least']:>9.2f}{ratios}  {verdict}")


def write(folder, name, result):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    with open(os.path.join(folder, name + ".svg"), "w") as f:
        f.write(draw(result))
