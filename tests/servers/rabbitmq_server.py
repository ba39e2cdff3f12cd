"""A RabbitMQ broker for tests, and one that also speaks TLS: free ports of 127.0.0.1, files in the folder it is given, its own
node name, cookie and port mapper (epmd), all of which end with stop()."""
import os
import pathlib
import secrets
import socket
import subprocess
import time

import redis_server
from ports import free_port

_UP_WITHIN = 600.0
_PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def _speaks_amqp(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as probe:
            probe.sendall(b"AMQP\x00\x00\x09\x01")
            return probe.recv(1) == b"\x01"  # the method frame of Connection.Start
    except OSError:
        return False


class Broker:
    """One node and its port mapper; `url` has the user guest, who may come from 127.0.0.1."""

    def __init__(self, folder, certificates=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.tls_port = free_port() if certificates else None
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}"
        self.certificates = certificates
        self.process = None
        self.mapper = None
        self.mapper_port = free_port()
        self.node_port = free_port()
        self.name = f"onceward{self.port}@localhost"
        self._configure()
        self.start()

    @property
    def tls_url(self):
        return f"amqps://guest:guest@127.0.0.1:{self.tls_port}?ca={self.certificates / 'ca.pem'}"

    def _configure(self):
        lines = [f"listeners.tcp.1 = 127.0.0.1:{self.port}", "log.console = true", "log.console.level = warning",
                 "log.file = false", "collect_statistics = none", "vm_memory_high_watermark.absolute = 1GB",
                 "disk_free_limit.absolute = 1MB"]
        if self.certificates:
            lines += [f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}",
                      f"ssl_options.cacertfile = {self.certificates / 'ca.pem'}",
                      f"ssl_options.certfile = {self.certificates / 'server.pem'}",
                      f"ssl_options.keyfile = {self.certificates / 'server.key'}",
                      "ssl_options.verify = verify_none", "ssl_options.fail_if_no_peer_cert = false"]
        (self.folder / "rabbitmq.conf").write_text("".join(line + "\n" for line in lines))
        (self.folder / "enabled_plugins").write_text("[].\n")
        cookie = self.folder / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)

    def _environment(self):
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder),
                "ERL_EPMD_PORT": str(self.mapper_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODENAME": self.name, "RABBITMQ_DIST_PORT": str(self.node_port),
                "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"), "RABBITMQ_CONF_ENV_FILE": "/dev/null",
                "RABBITMQ_MNESIA_BASE": str(self.folder / "data"), "RABBITMQ_LOG_BASE": str(self.folder),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
                "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the node: one process, ours to end
                "RABBITMQ_SERVER_ERL_ARGS": "+P 100000 +t 1048576"}

    def start(self):
        environment = self._environment()
        with open(self.folder / "log", "ab") as log:
            # Started by ourselves, because one that the node starts outlives it.
            if self.mapper is None:
                self.mapper = subprocess.Popen(["epmd"], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            self.process = subprocess.Popen([_PROGRAM], env=environment, cwd=self.folder, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        try:
            self._wait_until_up()
        except AssertionError:
            self.stop()
            raise
        return self

    def _wait_until_up(self):
        end = time.monotonic() + _UP_WITHIN
        while not _speaks_amqp(self.port):
            text = (self.folder / "log").read_text()[-3000:]
            assert self.process.poll() is None, text
            assert time.monotonic() < end, f"no broker within {_UP_WITHIN} s: {text}"
            time.sleep(0.1)

    def kill(self):
        """The node alone, without a word; start() brings it back with what it had made durable."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.kill()
        self.mapper.terminate()
        self.mapper.wait()


def start(folder):
    return Broker(folder)


def start_tls(folder):
    return Broker(folder, redis_server.make_certificates(pathlib.Path(folder) / "certificates"))
