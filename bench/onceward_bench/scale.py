"""Two questions about many records: what a request costs in front of them, and what removing them does to others.

  bench/run --scale 10000000     cost per first request with 0 and with so many stored records
  bench/run --purge              p99 while expired records are purged and segments cleaned, and without
"""
import os
import statistics
import subprocess
import time

from .cases import Case
from .load import measure
from .processes import Processes
from .servers import start_upstream
from .subjects import Subjects

ROUNDS = 5


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def interleaved(processes, names, seconds, rounds=ROUNDS):
    cases = {name: Case(name, name, "unique") for name in names}
    runs = {name: [] for name in names}
    for number in range(rounds + 1):  # the first one warms up
        for name, case in cases.items():
            result = measure(processes, case, number * 100 + names.index(name), seconds)
            if number:
                runs[name].append(result)
    return runs


def print_runs(runs):
    print(f"{'':<28}{'req/s':>9}{'CPU us':>8}{'p50 ms':>8}{'p99 ms':>8}{'p99.9':>8}")
    for name, figures in runs.items():
        print(f"{name:<28}" + f"{median(figures, 'rps'):>9.0f}{median(figures, 'cpu_us'):>8.2f}"
              f"{median(figures, 'p50_ms'):>8.2f}{median(figures, 'p99_ms'):>8.2f}{median(figures, 'p999_ms'):>8.2f}")


def scale(root, records, seconds):
    processes = Processes(root)
    try:
        subjects = Subjects(processes, start_upstream(processes))
        full = processes.data_folder("full")
        began = time.monotonic()
        subprocess.run([os.path.join(root, "build/release/fill_store"), full, str(records)], check=True)
        print(f"{records:,} records written in {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        subjects.start_onceward("full", "file", store=f"file:{full}")
        print(f"opened and serving after {time.monotonic() - began:.2f} s")
        subjects.start_onceward("empty", "file")
        runs = interleaved(processes, ["empty", "full"], seconds)
    finally:
        processes.stop()
    print_runs(runs)
    print(f"CPU per request with {records:,} records: {median(runs['full'], 'cpu_us') / median(runs['empty'], 'cpu_us'):.2f} "
          "of what it is without (at most 1.5)")


def purge(root, seconds):
    """One proxy keeps its records, the other's end after a second: it purges all the time, as much as it writes."""
    processes = Processes(root)
    try:
        subjects = Subjects(processes, start_upstream(processes))
        subjects.start_onceward("keeps its records", "file", ttl="1h")
        subjects.start_onceward("purges all the time", "file", ttl="1s")
        runs = interleaved(processes, ["keeps its records", "purges all the time"], seconds)
    finally:
        processes.stop()
    print_runs(runs)
    ratio = median(runs["purges all the time"], "p99_ms") / median(runs["keeps its records"], "p99_ms")
    print(f"p99 while purging: {ratio:.2f} of the p99 without (at most 2)")
