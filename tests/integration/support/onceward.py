"""One `onceward serve` process: writes its config, starts it, talks to it, ends it in every way there is."""

import functools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import threading

from ports import free_port

from . import client
from .waiting import PATIENCE, eventually

ROOT = pathlib.Path(__file__).resolve().parents[3]
SANITIZER = re.compile(r"(AddressSanitizer|ThreadSanitizer|LeakSanitizer|MemorySanitizer|runtime error:|ONCEWARD_ASSERT"
                       r"|[Aa]ssertion .*failed|terminate called)")


def binary():
    return os.environ.get("ONCEWARD_BINARY", str(ROOT / "build/release/onceward"))


@functools.cache
def has_sanitizer():
    """Whether the program brings a runtime that wants to be loaded first."""
    code = pathlib.Path(binary()).read_bytes()
    return b"__asan_init" in code or b"__tsan_init" in code


def environment(extra=None):
    """Ours without any ONCEWARD_ variable: a developer's shell must not change what is tested."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ONCEWARD_")}
    return clean | (extra or {})


def run(*arguments, env=None, within=PATIENCE, cwd=None):
    """Runs a command that ends by itself."""
    return subprocess.run([binary(), *map(str, arguments)], env=environment(env), timeout=within, cwd=cwd,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)


def problems_of_config(folder, text, env=None):
    """The result of `onceward check` on this text."""
    path = pathlib.Path(folder) / "checked.yaml"
    path.write_text(text)
    return run("check", path, env=env)


class RefusedToStart(AssertionError):
    """`serve` ended instead of listening."""


class Onceward:
    def __init__(self, folder, upstream, store="memory", operations=(), env=None, arguments=(), **config):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self.api_port = free_port(), free_port()
        self.token = "token-" + os.urandom(12).hex()
        token_file = self.folder / "token"
        token_file.write_text(self.token + "\n")
        token_file.chmod(0o600)
        self.config = {
            "listen": f"127.0.0.1:{self.port}",
            "upstream": upstream if isinstance(upstream, (str, dict)) else upstream.url,
            "store": f"file:{self.folder / 'data'}" if store == "file" else store,
            "api": {"listen": f"127.0.0.1:{self.api_port}", "token_file": str(token_file)},
            "operations": list(operations),
        } | config
        self.path = self.folder / "onceward.yaml"
        self.stdout_path, self.stderr_path = self.folder / "stdout", self.folder / "stderr"
        self.env, self.arguments = env, list(arguments)
        self.process = None
        self.expect_exit = 0

    # -- life ---------------------------------------------------------------------------------------

    def write_config(self, text=None):
        # JSON is YAML, and no indentation of ours can go wrong.
        self.path.write_text(text if text is not None else json.dumps(self.config, indent=1) + "\n")

    def spawn(self):
        with open(self.stdout_path, "ab") as out, open(self.stderr_path, "ab") as err:
            self.process = subprocess.Popen([binary(), "serve", "--config", str(self.path), *self.arguments],
                                            stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                            env=environment(self.env), cwd=self.folder)
        return self

    def start(self):
        self.write_config()
        self.spawn()
        eventually(self.accepts, what=lambda: self.logs())
        return self

    def accepts(self):
        code = self.process.poll()
        if code is not None:
            self.process = None
            raise RefusedToStart(f"serve ended with {code}:\n{self.logs()}")
        ports = [self.port] + [self.api_port] * str(self.api_listen()).endswith(f":{self.api_port}")
        try:
            for port in ports:
                client.Connection(port).close()
            return True
        except OSError:
            return False

    def api_listen(self):
        api = self.config.get("api")
        return api.get("listen") if isinstance(api, dict) else api

    def restart(self):
        """After kill() or stop(): the same config and the same folder."""
        return self.start()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def signal(self, number):
        self.process.send_signal(number)

    def reload(self):
        """SIGHUP, and waits for the log to say how it went: workers take new rules one after another."""
        before = self.reloads_ended()
        self.signal(signal.SIGHUP)
        eventually(lambda: self.reloads_ended() > before, what=lambda: f"the reload to end:\n{self.logs()[-4000:]}")

    def reloads_ended(self):
        logs = self.logs()
        return logs.count('"reloaded"') + logs.count('"the old rules stay in force"')

    def ended_with(self, within=PATIENCE):
        """Waits for the process to end by itself; its exit code."""
        code = self.process.wait(within)
        self.process = None
        self.check_logs()
        return code

    def stop(self):
        """SIGTERM; a clean end is exit code 0 and no report of a sanitizer."""
        if self.process is None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"serve did not end {PATIENCE}s after SIGTERM:\n{self.logs()[-4000:]}")
        self.process = None
        self.check_logs()
        assert code == self.expect_exit, f"exit code {code} after SIGTERM:\n{self.logs()[-4000:]}"

    def logs(self):
        return "".join(path.read_text(errors="replace") for path in (self.stdout_path, self.stderr_path)
                       if path.exists())

    def check_logs(self):
        report = SANITIZER.search(self.logs())
        assert not report, f"{report.group(0)} in the logs:\n{self.logs()[-8000:]}"

    def memory_kib(self, field="VmRSS"):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+)", text).group(1))

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def limit(self, which, value):
        resource.prlimit(self.process.pid, which, (value, value))

    # -- requests -----------------------------------------------------------------------------------

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connect(self, **options):
        return client.Connection(self.port, **options)

    def request(self, method, target, key=None, json=None, body=None, headers=(), script=None, tenant=None,
                authorization=None, timeout=PATIENCE):
        data = request_bytes(method, target, key, json, body, headers, script, tenant, authorization)
        with self.connect(timeout=timeout) as connection:
            return connection.send(data).read(method)

    def get(self, target, **options):
        return self.request("GET", target, **options)

    def post(self, target="/orders", key=None, json=None, **options):
        if json is None and options.get("body") is None:
            json = {"amount": 100}
        return self.request("POST", target, key=key, json=json, **options)

    def in_background(self, *arguments, **options):
        return Background(lambda: self.request(*arguments, **options))

    def post_in_background(self, *arguments, **options):
        return Background(lambda: self.post(*arguments, **options))

    def api(self, target, method="GET", token=True, headers=(), json=None, body=None):
        """`token` is True (the one in the file with every role), False (none) or a token."""
        headers = list(headers)
        if token:
            headers.append(("Authorization", f"Bearer {self.token if token is True else token}"))
        if json is not None:
            body = json_bytes(json)
            headers.append(("Content-Type", "application/json"))
        if method == "POST" and body is None:
            body = b""
        with client.Connection(self.api_port) as connection:
            data = client.build(method, target, headers, body, host=f"127.0.0.1:{self.api_port}")
            return connection.send(data).read(method)

    def metrics(self):
        return parse_metrics(self.api("/metrics").body.decode())


class Background:
    """A request in a thread of its own; `.result()` is its answer or raises what it raised."""

    def __init__(self, action):
        self._action, self._value, self._error = action, None, None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._value = self._action()
        except BaseException as error:
            self._error = error

    @property
    def done(self):
        return not self._thread.is_alive()

    def result(self, within=2 * PATIENCE):
        self._thread.join(within)
        assert self.done, "no answer in time"
        if self._error:
            raise self._error
        return self._value


def request_bytes(method, target, key=None, json=None, body=None, headers=(), script=None, tenant=None,
                  authorization=None, version="HTTP/1.1"):
    headers = list(headers)
    names = {name.lower() for name, _ in headers}
    if json is not None:
        body = json_bytes(json)
        if "content-type" not in names:
            headers.append(("Content-Type", "application/json"))
    for name, value in (("Idempotency-Key", key), ("X-Script", script), ("X-Tenant-ID", tenant),
                        ("Authorization", authorization)):
        if value is not None:
            headers.append((name, value))
    if body is None and method in ("POST", "PUT", "PATCH", "DELETE"):
        body = b""
    return client.build(method, target, headers, body, version=version)


def json_bytes(value):
    return json.dumps(value, ensure_ascii=False).encode()


def parse_metrics(text):
    """{(name, frozenset(labels)): value}; fails on a line that is not Prometheus text format."""
    samples = {}
    line_format = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$')
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = line_format.match(line)
        assert match, f"not a metrics line: {line!r}"
        labels = frozenset(re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', match.group(2) or ""))
        samples[match.group(1), labels] = float(match.group(3))
    return samples


def metric_sum(samples, name, **labels):
    wanted = set(labels.items())
    return sum(value for (sample, having), value in samples.items() if sample == name and wanted <= having)
