"""One measurement: wrk against a subject, and the CPU time that the subject used meanwhile."""
import http.client
import json
import re
import subprocess

from .processes import cpu_seconds

# The load runs on the cores that the subject runs on: requests that are all the same are made once, and of
# the others only the key is put in anew.
LUA = """
local mode, prefix, place = "%(mode)s", "%(prefix)s", "@key@"
wrk.method, wrk.path, wrk.body = "POST", "/orders", [[%(body)s]]
wrk.headers["Content-Type"] = "application/json"
local same = { none = true, same = true }
if mode == "same" then wrk.headers["Idempotency-Key"] = prefix .. "same" end
if not same[mode] then
  local n, before, after = 0, nil, nil
  local number = { unique = function(n) return n end,
                   race = function(n) return math.floor((n - 1) / 64) end,
                   fifth = function(n) return n %% 5 ~= 0 and n or n - 4 end }
  local number_of = number[mode]
  function init()
    wrk.headers["Idempotency-Key"] = place
    local text = wrk.format()
    local from, to = text:find(place, 1, true)
    before, after = text:sub(1, from - 1) .. prefix, text:sub(to + 1)
  end
  function request()
    n = n + 1
    return before .. number_of(n) .. after
  end
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %%d %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.timeout + e.status,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
"""


class Failed(Exception):
    pass


def body_text(size):
    """An order of about so many bytes."""
    order = {"customerId": "c-1234567", "amount": 19.90, "currency": "EUR", "note": ""}
    order["note"] = "x" * max(0, size - len(json.dumps(order)))
    return json.dumps(order)


def run_once(port, key, body):
    """The first request of a key that is then only replayed: peers refuse duplicates of one that still runs."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/orders", body, {"Content-Type": "application/json", "Idempotency-Key": key})
    connection.getresponse().read()
    connection.close()


def measure(processes, case, run_number, seconds):
    subject = case.subject
    if case.keys == "same":
        run_once(processes.ports[subject], f"r{run_number}-same", body_text(case.body))
    script = processes.path("wrk.lua", LUA % {"mode": case.keys, "body": body_text(case.body), "prefix": f"r{run_number}-"})
    pid = processes.running[subject].pid
    scheme = "https" if subject.endswith("-tls") else "http"
    before = cpu_seconds(pid)
    run = subprocess.run(["wrk", "-t1", f"-c{case.connections}", f"-d{seconds}s", "-s", script,
                          f"{scheme}://127.0.0.1:{processes.ports[subject]}"],
                         capture_output=True, text=True, timeout=seconds + 30)
    used = cpu_seconds(pid) - before
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", run.stdout)
    if not found:
        raise Failed(f"wrk failed: {run.stdout} {run.stderr}")
    requests, duration, errors, p50, p99, p999 = map(int, found.groups())
    if errors or requests == 0:
        raise Failed(f"{errors} of {requests} requests failed")
    return {"rps": requests / (duration / 1e6), "cpu_us": used * 1e6 / requests,
            "p50_ms": p50 / 1000, "p99_ms": p99 / 1000, "p999_ms": p999 / 1000}
