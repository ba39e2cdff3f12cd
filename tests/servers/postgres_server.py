"""A PostgreSQL server of our own, in a temporary folder and on a free port of 127.0.0.1.

It refuses to run as root, so it runs as the user `postgres`. start() gives a server whose data need not survive a crash of
the machine (fsync=off: tests of what a store answers); start(durable=True) one that syncs.
"""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from ports import free_port

BIN = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
USER = "postgres"
WITHIN_SECONDS = 180  # for any step; a busy machine takes its time


def as_postgres(command, check=True, **options):
    """Runs a command as the user that PostgreSQL accepts."""
    if os.getuid() == 0:
        user = pwd.getpwnam(USER)
        options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([str(part) for part in command], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WITHIN_SECONDS, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stdout}")
    return done.stdout


def give_to_postgres(folder):
    if os.getuid() == 0:
        shutil.chown(folder, USER, USER)


class Server:
    def __init__(self, folder, port):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.port = port
        self.url = f"postgres://{USER}@127.0.0.1:{port}/postgres"
        self.standbys = []

    def configure(self, **settings):
        with open(self.data / "postgresql.conf", "a") as file:
            for name, value in settings.items():
                file.write(f"{name} = '{value}'\n")

    def start(self):
        log = self.folder / "server.log"
        as_postgres([BIN / "pg_ctl", "start", "-w", "-t", WITHIN_SECONDS, "-D", self.data, "-l", log])

    def stop(self, mode="immediate"):
        for standby in self.standbys:
            standby.stop()
        self.standbys = []
        if (self.data / "postmaster.pid").exists():
            as_postgres([BIN / "pg_ctl", "stop", "-w", "-t", WITHIN_SECONDS, "-m", mode, "-D", self.data], check=False)

    def restart(self, mode="immediate"):
        """A crash of the server (immediate) or an orderly restart (fast)."""
        as_postgres([BIN / "pg_ctl", "restart", "-w", "-t", WITHIN_SECONDS, "-m", mode, "-D", self.data,
                     "-l", self.folder / "server.log"])

    def sql(self, text, database="postgres"):
        """The rows of the statement, one line each, columns separated by |."""
        return as_postgres([BIN / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                            "-p", self.port, "-d", database, "-c", text]).strip()

    def kill_backends(self, application="onceward"):
        """Terminates the sessions of an application."""
        self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{application}'")

    def use_tls(self):
        """A certificate for `localhost`, signed by itself; the URL that trusts it alone."""
        certificate, secret = self.folder / "server.crt", self.folder / "server.key"
        as_postgres(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2",
                     "-keyout", secret, "-out", certificate])
        secret.chmod(0o600)
        self.sql(f"ALTER SYSTEM SET ssl_cert_file = '{certificate}'")
        self.sql(f"ALTER SYSTEM SET ssl_key_file = '{secret}'")
        self.sql("ALTER SYSTEM SET ssl = on")
        self.sql("SELECT pg_reload_conf()")
        return f"postgres://{USER}@localhost:{self.port}/postgres?sslmode=verify-full&sslrootcert={certificate}"

    def new_database(self, name):
        self.sql(f"CREATE DATABASE {name}")
        return f"postgres://{USER}@127.0.0.1:{self.port}/{name}"

    def add_standby(self, name="standby1", through=None):
        """A standby that every commit waits for; it follows through another port, if one is given."""
        folder = self.folder / name
        folder.mkdir()
        give_to_postgres(folder)
        standby = Server(folder, free_port())
        as_postgres([BIN / "pg_basebackup", "-h", "127.0.0.1", "-p", self.port, "-U", USER, "-D", standby.data,
                     "-X", "stream", "-c", "fast"])
        conninfo = f"host=127.0.0.1 port={through or self.port} user={USER} application_name={name}"
        as_postgres(["touch", standby.data / "standby.signal"])
        standby.configure(port=standby.port, unix_socket_directories=folder, primary_conninfo=conninfo)
        standby.start()
        self.standbys.append(standby)
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.sql("SELECT pg_reload_conf()")
        deadline = time.monotonic() + WITHIN_SECONDS
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
            if time.monotonic() > deadline:
                raise RuntimeError("the standby does not follow")
            time.sleep(0.05)
        return standby

    def promote(self):
        as_postgres([BIN / "pg_ctl", "promote", "-w", "-t", WITHIN_SECONDS, "-D", self.data])


def start(folder, durable=False):
    folder = pathlib.Path(folder)
    give_to_postgres(folder)
    server = Server(folder, free_port())
    as_postgres([BIN / "initdb", "-D", server.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
    server.configure(port=server.port, listen_addresses="127.0.0.1", unix_socket_directories=folder, max_connections=120,
                     shared_buffers="32MB", log_min_messages="fatal", shared_preload_libraries="pg_stat_statements",
                     **{"pg_stat_statements.track": "top"})
    if not durable:
        server.configure(fsync="off", full_page_writes="off")
    server.start()
    return server


@contextlib.contextmanager
def running(durable=False):
    """A server in a folder that its user can reach, ended and removed afterwards."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="onceward-postgres-"))
    folder.chmod(0o755)
    server = None
    try:
        own = folder / "server"
        own.mkdir()
        server = start(own, durable)
        yield server
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Pooler:
    """PgBouncer in front of a server, pooling transactions."""

    def __init__(self, folder, server, pool_size=8):
        self.folder = pathlib.Path(folder)
        give_to_postgres(self.folder)
        self.port = free_port()
        (self.folder / "users.txt").write_text(f'"{USER}" ""\n')
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user={USER}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\n"
            f"auth_file = {self.folder}/users.txt\nunix_socket_dir =\npool_mode = transaction\n"
            f"default_pool_size = {pool_size}\nmax_client_conn = 200\n"
            f"logfile = {self.folder}/pgbouncer.log\npidfile = {self.folder}/pgbouncer.pid\n")
        self.url = f"postgres://{USER}@127.0.0.1:{self.port}/postgres"
        as_postgres(["/usr/sbin/pgbouncer", "-q", "-d", self.folder / "pgbouncer.ini"])
        deadline = time.monotonic() + WITHIN_SECONDS
        while socket.socket().connect_ex(("127.0.0.1", self.port)) != 0:
            if time.monotonic() > deadline:
                raise RuntimeError((self.folder / "pgbouncer.log").read_text())
            time.sleep(0.02)

    def stop(self):
        try:
            os.kill(int((self.folder / "pgbouncer.pid").read_text()), signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError):
            pass
