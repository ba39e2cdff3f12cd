"""Redis servers for tests: one, one with TLS, a primary with replicas and sentinels, a cluster. Each listens on a free port
of 127.0.0.1, keeps its files in the folder it is given, and ends with stop()."""
import pathlib
import signal
import subprocess
import time

from ports import free_port

_UP_WITHIN = 60.0


def cli(port, *words, arguments=(), timeout=_UP_WITHIN):
    """The answer of redis-cli, as text."""
    done = subprocess.run(["redis-cli", "-p", str(port), *arguments, *map(str, words)], capture_output=True, text=True,
                          timeout=timeout)
    return done.stdout.strip() or done.stderr.strip()


def eventually(condition, within=_UP_WITHIN, what="a condition"):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {within} s: {what}")
        time.sleep(0.02)


class Process:
    """One redis-server (or sentinel) process."""

    def __init__(self, folder, port=None, program="redis-server", config=(), settings=(), cli_arguments=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        self.cli_arguments = list(cli_arguments)
        self.config = list(config)
        self.command = [program]
        if config:  # a sentinel writes its state to its own file
            path = self.folder / "server.conf"
            path.write_text("".join(line + "\n" for line in config))
            self.command.append(str(path))
        self.command += ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--daemonize", "no",
                         *map(str, settings)]
        self.process = None
        self.start()

    def spawn(self):
        """Starts it without waiting until it answers."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self):
        self.spawn()
        eventually(self.answers, what=f"{self.command}: {(self.folder / 'log').read_text()[-2000:]}")
        return self

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        reply = self.cli("PING")
        return reply == "PONG" or "NOAUTH" in reply or "NOPERM" in reply

    def cli(self, *words):
        return cli(self.port, *words, arguments=self.cli_arguments)

    def is_copied(self, replicas=1):
        """Whether so many replicas have everything. WAIT would not tell: it counts what its own connection has written."""
        told = dict(line.split(":", 1) for line in self.cli("INFO", "replication").splitlines() if ":" in line)
        offset = f"offset={told['master_repl_offset']},"
        return sum(offset in line for name, line in told.items() if name.startswith("slave")) >= replicas

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.resume()
            self.kill()


class Server:
    """What the tests are given: a URL, and the processes behind it."""

    def __init__(self, url, processes):
        self.url = url
        self.processes = processes

    @property
    def main(self):
        return self.processes[0]

    def stop(self):
        for process in self.processes:
            process.stop()


DURABLE = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--repl-diskless-sync-delay", "0")


def start(folder, settings=DURABLE, **options):
    process = Process(folder, settings=settings, **options)
    return Server(f"redis://127.0.0.1:{process.port}", [process])


def make_certificates(folder):
    """A CA of our own and a certificate of it for 127.0.0.1."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout",
            "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")
    return folder


def tls_process(folder, certificates, program="redis-server", config=(), settings=()):
    """One that speaks TLS only."""
    port, ca = free_port(), certificates / "ca.pem"
    encrypted = ("--port", "0", "--tls-port", port, "--tls-cert-file", certificates / "server.pem", "--tls-key-file",
                 certificates / "server.key", "--tls-ca-cert-file", ca, "--tls-auth-clients", "no")
    return Process(folder, port=port, program=program, config=config, settings=(*encrypted, *settings),
                   cli_arguments=("--tls", "--cacert", str(ca)))


def start_tls(folder):
    certificates = make_certificates(pathlib.Path(folder) / "certificates")
    process = tls_process(folder, certificates, settings=("--save", ""))
    return Server(f"rediss://127.0.0.1:{process.port}?ca={certificates / 'ca.pem'}", [process])


def start_tls_sentinel(folder):
    """A primary and one sentinel, both with TLS."""
    folder = pathlib.Path(folder)
    certificates = make_certificates(folder / "certificates")
    primary = tls_process(folder / "primary", certificates, settings=("--save", ""))
    sentinel = tls_process(folder / "sentinel", certificates, program="redis-sentinel",
                           config=[f"sentinel monitor main 127.0.0.1 {primary.port} 1"],
                           settings=("--tls-replication", "yes"))
    ca = certificates / "ca.pem"
    return Server(f"redis+sentinel://127.0.0.1:{sentinel.port}/main?tls=true&ca={ca}", [primary, sentinel])


def start_replicated(folder, replicas=1, settings=DURABLE):
    """A primary (the first process) and replicas that follow it."""
    folder = pathlib.Path(folder)
    primary = Process(folder / "primary", settings=settings)
    processes = [primary]
    for index in range(replicas):
        processes.append(Process(folder / f"replica{index}",
                                 settings=(*settings, "--replicaof", f"127.0.0.1 {primary.port}")))
    eventually(lambda: primary.is_copied(replicas), what="replicas to follow")
    return Server(f"redis://127.0.0.1:{primary.port}", processes)


def start_sentinel(folder, sentinels=3):
    """A primary, a replica and sentinels that watch them; `processes` in this order."""
    folder = pathlib.Path(folder)
    server = start_replicated(folder, 1)
    watchers = []
    for index in range(sentinels):
        config = [f"sentinel monitor main 127.0.0.1 {server.main.port} {sentinels // 2 + 1}",
                  "sentinel down-after-milliseconds main 1500", "sentinel failover-timeout main 3000"]
        watchers.append(Process(folder / f"sentinel{index}", program="redis-sentinel", config=config))
    for watcher in watchers:
        eventually(lambda w=watcher: f"num-other-sentinels\n{sentinels - 1}" in w.cli("SENTINEL", "MASTER", "main")
                   and "num-slaves\n1" in w.cli("SENTINEL", "MASTER", "main"), what="sentinels to know each other")
    server.processes += watchers
    server.url = "redis+sentinel://" + ",".join(f"127.0.0.1:{w.port}" for w in watchers) + "/main"
    return server


def start_cluster(folder, nodes=6, replicas=1):
    folder = pathlib.Path(folder)
    settings = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000",
                "--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0")
    processes = [Process(folder / f"node{index}", settings=settings) for index in range(nodes)]
    places = [f"127.0.0.1:{process.port}" for process in processes]
    made = subprocess.run(["redis-cli", "--cluster", "create", *places, "--cluster-replicas", str(replicas), "--cluster-yes"],
                          capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stdout + made.stderr
    for process in processes:
        eventually(lambda p=process: "cluster_state:ok" in p.cli("CLUSTER", "INFO"), what="the cluster to be ok")
    return Server("redis+cluster://" + ",".join(places[:2]), processes)
