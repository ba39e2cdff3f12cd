"""Starting, watching and ending the processes of a run. Only what was started here is ended."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Refused(Exception):
    """A subject that cannot run here, and why."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port, process, log, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            with open(log) as f:
                last = (f.read().strip().splitlines() or [f"ended with {process.returncode}"])[-1]
            raise Refused(last[:200])
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Refused(f"nothing listens on its port after {seconds} s")


def with_children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [pid] + [int(child) for child in f.read().split()]
    except OSError:
        return [pid]


def cpu_seconds(pid):
    """User + system time of all threads, and of the children (nginx works in one)."""
    total = 0
    for one in with_children(pid):
        with open(f"/proc/{one}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


class Processes:
    def __init__(self, root):
        self.root = root
        self.folder = tempfile.mkdtemp(prefix="onceward-bench-")
        os.chmod(self.folder, 0o755)
        self.folders = [self.folder]
        self.running = {}
        self.ports = {}
        self.stoppers = []

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path

    def data_folder(self, name):
        """Where the disk is, not in a temporary folder that may be memory."""
        folder = os.path.join(self.root, "build", f"bench-{name}-{os.getpid()}")
        self.folders.append(folder)
        return folder

    def start(self, name, arguments, port, **options):
        log = self.path(name + ".log")
        with open(log, "w") as out:
            process = subprocess.Popen(arguments, stdout=out, stderr=out, **options)
        self.running[name] = process
        self.ports[name] = port
        try:
            wait_port(port, process, log)
        except Refused:
            self.running.pop(name)
            if process.poll() is None:
                process.kill()
            process.wait()
            raise

    def stop(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for stop in self.stoppers:
            stop()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
