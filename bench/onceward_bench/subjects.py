"""What is compared: each subject is one process with one worker thread in front of the same upstream (the
node peers are a service and its guard in one process, as they are used)."""
import os
import shutil
import subprocess

from .processes import Refused, free_port
from .servers import ANSWER, nginx_config, start_postgres, start_redis

PEERS = {"express": "4", "fastify": "4", "@node-idempotency/core": "1", "@node-idempotency/storage-adapter-redis": "1"}


class Subjects:
    def __init__(self, processes, upstream):
        self.processes = processes
        self.upstream = upstream
        self.root = processes.root
        self.onceward = os.environ.pop("ONCEWARD_BINARY", os.path.join(self.root, "build/release/onceward"))

    def start(self, name):
        kind, _, variant = name.partition("-")
        if kind == "nginx":
            self.start_nginx(name, variant)
        elif kind == "haproxy":
            self.start_haproxy()
        elif kind in PEERS:
            self.start_peer(name)
        else:
            self.start_onceward(name, kind, variant)

    def certificate(self):
        cert, key = self.processes.path("cert.pem"), self.processes.path("key.pem")
        if not os.path.exists(cert):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"],
                           check=True, capture_output=True)
        return cert, key

    def start_nginx(self, name, variant):
        port = free_port()
        tls = ""
        if variant == "tls":
            cert, key = self.certificate()
            tls = f"ssl_certificate {cert}; ssl_certificate_key {key};"
        config = nginx_config(self.processes, name, f"""
            upstream u {{ server 127.0.0.1:{self.upstream}; keepalive 512; keepalive_requests 1000000000; }}
            server {{ listen 127.0.0.1:{port} {"ssl" if tls else ""} backlog=4096; {tls}
            location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr; }} }}""", workers=2 if variant == "2" else 1)
        self.processes.start(name, ["nginx", "-c", config], port)

    def start_haproxy(self):
        port = free_port()
        config = self.processes.path("haproxy.cfg", f"""
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 30s
  option forwardfor
  http-reuse always
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{self.upstream}
""")
        self.processes.start("haproxy", ["haproxy", "-f", config], port)

    def store_of(self, name, kind, variant):
        if kind == "file":
            return f"file:{self.processes.data_folder(name)}", "process" if variant == "process" else "disk"
        if kind == "redis":
            return f"redis://127.0.0.1:{start_redis(self.processes)}", "disk"
        if kind == "postgres":
            return f"postgres://onceward@127.0.0.1:{start_postgres(self.processes)}/onceward", "disk"
        return "memory", "disk"

    def start_onceward(self, name, kind, variant="", ttl="10m", store=None):
        durability = "disk"
        if not store:
            store, durability = self.store_of(name, kind, variant)
        port = free_port()
        tls = ""
        if variant == "tls":
            cert, key = self.certificate()
            tls = f"tls: {{ cert: {cert}, key: {key} }}"
        config = self.processes.path(name + ".yaml", f"""
listen: 127.0.0.1:{port}
upstream: {{ url: "http://127.0.0.1:{self.upstream}", max_connections: 2048 }}
store: {store}
durability: {durability}
api: {{ listen: "127.0.0.1:{free_port()}" }}
workers: {2 if variant == "2" else 1}
{tls}
defaults: {{ ttl: {ttl} }}
""")
        self.processes.start(name, [self.onceward, "serve", "--config", config, "--no-access-log"], port)

    def start_peer(self, name):
        if not shutil.which("npm"):
            raise Refused("npm is not installed")
        folder = os.path.join(self.root, "build/bench-peers")
        os.makedirs(folder, exist_ok=True)
        if not os.path.isdir(os.path.join(folder, "node_modules/@node-idempotency/storage-adapter-redis")):
            wanted = [f"{package}@{version}" for package, version in PEERS.items()]
            install = subprocess.run(["npm", "install", "--no-audit", "--no-fund", *wanted], cwd=folder,
                                     capture_output=True, text=True)
            if install.returncode != 0:
                raise Refused("npm install: " + (install.stderr.strip().splitlines() or ["failed"])[-1][:200])
        shutil.copy(os.path.join(self.root, "bench/peers", name + ".js"), folder)
        port = free_port()
        redis = start_redis(self.processes)
        self.processes.start(name, ["node", os.path.join(folder, name + ".js"), str(port),
                                    f"redis://127.0.0.1:{redis}", ANSWER], port,
                             env={**os.environ, "NODE_ENV": "production"})
