"""The stores on servers beside the servers' own load tools, in one run: the same script by redis-benchmark with the
same pipelining, the same statement by pgbench with the same connections.

What the store sends is not written down here a second time: one claim is watched at the server (MONITOR, the statement
log), and what was seen, with another key each time, is what the load tool sends.
"""
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

from .processes import Refused
from .servers import postgres_programs, start_postgres, start_redis

AIM = 0.7
IN_FLIGHT = 64
CONNECTIONS = 8


class Driver:
    """bench/store_claims.cpp: claims of new keys, without HTTP."""

    def __init__(self, root, url):
        self._program, self._url, self._first = os.path.join(root, "build/release/store_claims"), url, 0
        if not os.access(self._program, os.X_OK):
            raise Refused(f"{self._program} is not built")

    def run(self, *options):
        self._first += 100_000_000
        done = subprocess.run([self._program, self._url, "--in-flight", str(IN_FLIGHT), "--first", str(self._first), *options],
                              capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Refused(done.stderr.strip()[-300:])
        return json.loads(done.stdout)

    def speed(self, seconds):
        return self.run("--seconds", str(seconds))["per_s"]


class Redis:
    name, tool = "redis", f"redis-benchmark -c 1 -P {IN_FLIGHT}"

    def __init__(self, processes):
        self._port = start_redis(processes)
        self.driver = Driver(processes.root, f"redis://127.0.0.1:{self._port}?prefix=compared:")
        self._words = self._seen()

    def _seen(self):
        with subprocess.Popen(["redis-cli", "-p", str(self._port), "MONITOR"], stdout=subprocess.PIPE, text=True) as monitor:
            assert monitor.stdout.readline().strip() == "OK"
            self.driver.run("--count", "1")
            for line in monitor.stdout:
                words = shlex.split(line.partition("] ")[2])
                if words and words[0].upper() == "EVALSHA":
                    break
            monitor.terminate()
        # Another key, scope, operation and owner each time; redis-benchmark puts 12 digits in its place.
        number, name = "__rand_int__", re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
        fresh = [name.sub(lambda found: found.group(0)[:-12] + number, word) for word in words[3:]]
        return [*words[:3], *fresh]

    def tool_speed(self, seconds):
        speed = self._tool(20_000)
        self.clear()
        requests = max(20_000, int(speed * seconds))
        speed = self._tool(requests)
        size = subprocess.run(["redis-cli", "-p", str(self._port), "DBSIZE"], capture_output=True, text=True).stdout
        if int(size) < 0.99 * requests:
            raise Refused(f"redis-benchmark made {size.strip()} records with {requests} claims: they are not new keys")
        return speed

    def _tool(self, requests):
        done = subprocess.run(["redis-benchmark", "-p", str(self._port), "-c", "1", "-P", str(IN_FLIGHT), "-n", str(requests),
                               "-r", "2000000000", "--csv", *self._words], capture_output=True, text=True, timeout=120)
        if done.returncode != 0 or "ERR" in done.stderr:
            raise Refused((done.stderr or done.stdout).strip()[-300:])
        return float(done.stdout.strip().splitlines()[-1].split('","')[1].strip('"'))

    def clear(self):
        subprocess.run(["redis-cli", "-p", str(self._port), "FLUSHALL"], check=True, stdout=subprocess.DEVNULL)


class Postgres:
    name, tool = "postgres", f"pgbench -M extended -c {CONNECTIONS} -j 1"

    def __init__(self, processes):
        self._processes = processes
        self._port = processes.ports.get("postgres-server") or start_postgres(processes)
        self._place = ["-h", "127.0.0.1", "-p", str(self._port), "-U", "onceward"]
        self._sql("CREATE DATABASE compared", "onceward")
        self.driver = Driver(processes.root,
                             f"postgres://onceward@127.0.0.1:{self._port}/compared?connections={CONNECTIONS}")
        self._script = processes.path("claim.sql", self._seen())

    def _sql(self, text, database="compared"):
        done = subprocess.run([f"{postgres_programs()}/psql", *self._place, "-d", database, "-qAtc", text],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip()[-300:])
        return done.stdout.strip()

    def _seen(self):
        self.driver.run("--count", "1")  # the schema is there from now on
        self._sql("ALTER DATABASE compared SET log_min_duration_statement = 0")
        self.driver.run("--count", "1")
        self._sql("ALTER DATABASE compared RESET log_min_duration_statement")
        log = open(self._processes.path("postgres-server.log")).read()
        found = re.findall(r"execute <unnamed>: (SELECT v\.verdict.*?onceward\.claim\(.*?)\n.*?DETAIL:  parameters: (.*?)\n",
                           log, re.DOTALL)
        if not found:
            raise Refused("the claim was not found in the server's log")
        statement, text = found[-1]
        values = {int(number): value for number, value in re.findall(r"\$(\d+) = ('(?:[^']|'')*'|NULL)", text)}
        fresh = {1: "decode(lpad(to_hex(:number::bigint), 64, '0'), 'hex')", 2: "lpad(to_hex(:number::bigint), 32, '0')::uuid",
                 3: "lpad(to_hex(:number::bigint), 32, '1')::uuid"}
        types = self._sql("SELECT array_to_string(proargtypes::regtype[], ' ') FROM pg_proc "
                          f"WHERE proname = 'claim' AND pronamespace = 'onceward'::regnamespace AND pronargs = {len(values)}").split(" ")
        typed = {n: fresh.get(n) or f"{value}::{types[n - 1]}" for n, value in values.items()}
        return ("\\set number random(1, 9000000000000000000)\n" +
                re.sub(r"\$(\d+)", lambda n: typed[int(n.group(1))], statement.strip()) + ";\n")

    def tool_speed(self, seconds):
        done = subprocess.run([f"{postgres_programs()}/pgbench", *self._place, "-n", "-M", "extended", "-c", str(CONNECTIONS),
                               "-j", "1", "-T", str(max(1, round(seconds))), "-f", self._script, "compared"],
                              capture_output=True, text=True, timeout=120)
        speed = re.search(r"tps = ([0-9.]+) \(without", done.stdout)
        if done.returncode != 0 or not speed:
            raise Refused(done.stderr.strip()[-300:])
        made, asked = int(self._sql("SELECT count(*) FROM onceward.records")), float(speed.group(1)) * seconds
        if made < 0.5 * asked:
            raise Refused(f"pgbench made {made} records with about {asked:.0f} claims: they are not new keys")
        return float(speed.group(1))

    def clear(self):
        self._sql("TRUNCATE onceward.records")


def compare_one(subject, rounds, seconds):
    """Rounds take turns; the ratio is the median of neighbours."""
    speeds = []
    for _ in range(rounds):
        subject.clear()
        ours = subject.driver.speed(seconds)
        subject.clear()
        speeds.append((ours, subject.tool_speed(seconds)))
    return {"store": subject.name, "beside": subject.tool,
            "claims_per_s": statistics.median(ours for ours, _ in speeds),
            "tool_per_s": statistics.median(theirs for _, theirs in speeds),
            "ratio": statistics.median(ours / theirs for ours, theirs in speeds)}


def compare_stores(processes, rounds=3, seconds=2):
    rows = []
    for kind in (Redis, Postgres):
        print(f"\rstores: {kind.name} beside {kind.tool:<44}", end="", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            row = compare_one(kind(processes), rounds, seconds)
        except (Refused, OSError, subprocess.SubprocessError) as why:
            print(f"\nbench: SKIPPED {kind.name} beside {kind.tool}: {why}", file=sys.stderr)
            continue
        rows.append({**row, "took_s": round(time.monotonic() - began, 1)})
    print(file=sys.stderr)
    return rows


def print_stores(rows):
    for row in rows:
        verdict = "kept" if row["ratio"] >= AIM else "MISSED"
        print(f"{row['store']:<10}{row['claims_per_s']:>9.0f} claims/s   {row['beside']:<36}{row['tool_per_s']:>9.0f}/s   "
              f"ratio {row['ratio']:.2f} (>= {AIM}: {verdict})")
