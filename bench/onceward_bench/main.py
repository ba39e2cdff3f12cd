"""Runs the cases in interleaved rounds within a bounded time."""
import argparse
import os
import subprocess
import sys
import time

from .cases import CASES
from .load import Failed, measure
from .processes import Processes, Refused
from .report import machine, print_table, rows_of, write
from .scale import purge, scale
from .servers import start_upstream
from .stores import compare_stores, print_stores
from .subjects import Subjects

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of one case in one round")
    parser.add_argument("--quick", action="store_true", help="only the cases of the budget, within three minutes")
    parser.add_argument("--minutes", type=float, help="stop beginning rounds after this long (15; quick: 3)")
    parser.add_argument("--case", action="append", help="only cases whose name contains this, and nginx; repeatable")
    parser.add_argument("--scale", type=int, metavar="RECORDS", help="instead: the cost per request with so many records")
    parser.add_argument("--purge", action="store_true", help="instead: the p99 while records are purged")
    parser.add_argument("--stores", action="store_true",
                        help="instead: only the stores on servers beside redis-benchmark and pgbench")
    parser.add_argument("--output", help="write NAME.json and NAME.svg to docs/benchmarks")
    options = parser.parse_args(arguments)
    options.minutes = options.minutes or (3 if options.quick else 15)
    return options


def chosen(options):
    cases = [case for case in CASES if case.quick or not options.quick]
    if options.case:
        cases = [case for case in cases if case.name.startswith("nginx") or any(word in case.name for word in options.case)]
    return cases


def start_subjects(processes, cases):
    """Starts what runs here; a subject that refuses is left out with a clear line."""
    subjects = Subjects(processes, start_upstream(processes))
    refused = {}
    for name in dict.fromkeys(case.subject for case in cases):
        try:
            subjects.start(name)
        except (Refused, OSError, subprocess.SubprocessError) as why:
            refused[name] = str(why)
            print(f"bench: SKIPPED {name}: {why}", file=sys.stderr)
    return refused


def run_rounds(processes, cases, options, deadline):
    figures = {case.name: [] for case in cases}
    skipped = {}
    number = 0
    for round_number in range(options.rounds + 1):  # the first one warms up
        began = time.monotonic()
        for case in cases:
            if case.name in skipped:
                continue
            number += 1
            print(f"\rround {round_number}/{options.rounds}: {case.name:<44}", end="", file=sys.stderr, flush=True)
            try:
                result = measure(processes, case, number, options.seconds if round_number else 1)
            except Failed as why:
                skipped[case.name] = str(why)
                print(f"\nbench: SKIPPED {case.name}: {why}", file=sys.stderr)
                continue
            if round_number:
                figures[case.name].append(result)
        if round_number and time.monotonic() + (time.monotonic() - began) > deadline:
            print(f"\nbench: time is up after {round_number} rounds", file=sys.stderr)
            break
    print(file=sys.stderr)
    return figures, skipped


def only_stores(options):
    processes = Processes(ROOT)
    try:
        rows = compare_stores(processes, options.rounds, options.seconds)
    finally:
        processes.stop()
    print_stores(rows)
    return 0 if rows else 1


def main(arguments=None):
    options = parse(arguments)
    if options.scale:
        return scale(ROOT, options.scale, options.seconds)
    if options.purge:
        return purge(ROOT, options.seconds)
    if options.stores:
        return only_stores(options)
    # The stores on servers come last and take about half a minute.
    deadline = time.monotonic() + options.minutes * 60 - (20 if options.quick else 45)
    cases = chosen(options)
    processes = Processes(ROOT)
    try:
        refused = start_subjects(processes, cases)
        cases = [case for case in cases if case.subject not in refused]
        figures, skipped = run_rounds(processes, cases, options, deadline)
        stores = [] if options.case else compare_stores(processes, *((1, 1) if options.quick else (3, 2)))
    finally:
        processes.stop()
    rounds = max((len(runs) for runs in figures.values()), default=0)
    info = machine()
    print(f"{info['cores']} x {info['cpu']}, Linux {info['kernel']}; one worker thread each unless said otherwise, "
          f"64 connections, 100-byte bodies, {rounds} interleaved rounds of {options.seconds} s, medians\n")
    rows = rows_of(cases, figures)
    print_table(rows)
    print()
    print_stores(stores)
    for name, why in {**refused, **skipped}.items():
        print(f"skipped: {name}: {why}")
    if options.output:
        write(os.path.join(ROOT, "docs/benchmarks"), options.output,
              {"machine": info, "rounds": rounds, "seconds": options.seconds, "rows": rows, "stores": stores,
               "skipped": {**refused, **skipped}})
    return 0
