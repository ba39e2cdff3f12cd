"""The servers that are not measured as proxies: the upstream, redis, postgres."""
import os
import pwd
import subprocess
import time

from .processes import Refused, free_port

ANSWER = '{"id":"ord_1","state":"created","customerId":"c-1234567","amount":19.90}'


def nginx_config(processes, name, server, workers=1):
    temporary = " ".join(f"{kind}_temp_path {processes.path(name + '-' + kind)};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return processes.path(name + ".conf", f"""
daemon off; worker_processes {workers}; pid {processes.path(name + '.pid')}; error_log {processes.path(name + '.err')};
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 1000000000; client_max_body_size 1m; client_body_buffer_size 128k; {temporary}
  {server} }}""")


def start_upstream(processes):
    """Answers every request at once."""
    port = free_port()
    processes.start("upstream", [os.path.join(processes.root, "build/release/upstream"), str(port), ANSWER], port)
    return port


def start_redis(processes):
    if "redis-server" not in processes.ports:
        port = free_port()
        processes.start("redis-server", ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                         "--appendonly", "no", "--maxmemory-policy", "noeviction"], port)
    return processes.ports["redis-server"]


def postgres_programs():
    versions = sorted(os.listdir("/usr/lib/postgresql")) if os.path.isdir("/usr/lib/postgresql") else []
    if not versions:
        raise Refused("postgresql is not installed")
    return f"/usr/lib/postgresql/{versions[-1]}/bin"


def start_postgres(processes):
    programs = postgres_programs()
    data = processes.data_folder("postgres")
    os.makedirs(data)
    # It refuses to run as root.
    owner = {}
    if os.getuid() == 0:
        account = pwd.getpwnam("postgres")
        os.chown(data, account.pw_uid, account.pw_gid)
        owner = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}
    subprocess.run([f"{programs}/initdb", "-D", data, "-U", "onceward", "-A", "trust"], check=True,
                   stdout=subprocess.DEVNULL, **owner)
    port = free_port()
    processes.start("postgres-server", [f"{programs}/postgres", "-D", data, "-p", str(port), "-k", "",
                                        "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"], port, **owner)
    create = [f"{programs}/createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "onceward", "onceward"]
    end = time.monotonic() + 15
    # It listens before it takes connections.
    while (made := subprocess.run(create, capture_output=True, text=True)).returncode != 0:
        if time.monotonic() > end:
            raise Refused(made.stderr.strip()[-200:])
        time.sleep(0.2)
    return port
