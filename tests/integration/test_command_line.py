"""CONTRACT 6: commands, exit codes, the ready line."""

import json
import re
import signal
import socket
import subprocess

import pytest

from support import expect
from support.client import Connection
from support.onceward import Onceward, binary, environment, request_bytes, run
from support.waiting import eventually


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["check", "--help"]])
def test_help_is_exit_0(arguments):
    result = run(*arguments)
    assert result.returncode == 0 and len(result.stdout) > 40, result


def test_help_names_the_commands():
    text = run("--help").stdout
    for command in ("serve", "check", "version", "completion"):
        assert command in text


def test_serve_help_names_its_flags():
    text = run("serve", "--help").stdout
    for flag in ("--config", "--upstream", "--listen", "--store", "--api"):
        assert flag in text


def test_version_is_one_line():
    result = run("version")
    assert result.returncode == 0 and re.search(r"\d+\.\d+\.\d+", result.stdout)
    assert len(result.stdout.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["no-such-command"], ["serve", "--no-such-flag"], ["check"], ["completion"],
                                       ["completion", "tcsh"], ["serve", "stray"]])
def test_wrong_usage_is_exit_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2, result
    assert result.stdout + result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_commands(shell):
    result = run("completion", shell)
    assert result.returncode == 0 and "serve" in result.stdout and "check" in result.stdout


def test_the_bash_completion_is_valid_and_completes(tmp_path):
    path = tmp_path / "completion"
    path.write_text(run("completion", "bash").stdout)
    checked = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
    assert checked.returncode == 0, checked


def test_a_port_that_another_program_has_is_exit_1(tmp_path, upstream):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        proxy = Onceward(tmp_path, upstream)
        proxy.config["listen"] = f"127.0.0.1:{taken.getsockname()[1]}"
        proxy.write_config()
        proxy.spawn()
        assert proxy.ended_with() == 1
        assert str(taken.getsockname()[1]) in proxy.logs()


def test_a_port_that_another_onceward_has_is_exit_1(tmp_path, serve, upstream):
    first = serve()
    proxy = Onceward(tmp_path / "second", upstream)
    proxy.config["listen"] = f"127.0.0.1:{first.port}"
    proxy.write_config()
    proxy.spawn()
    assert proxy.ended_with() == 1


def test_a_taken_port_of_the_api_is_exit_1(tmp_path, upstream):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        proxy = Onceward(tmp_path, upstream)
        proxy.config["api"]["listen"] = f"127.0.0.1:{taken.getsockname()[1]}"
        proxy.write_config()
        proxy.spawn()
        assert proxy.ended_with() == 1


def test_with_port_0_the_ready_line_has_the_port(tmp_path, upstream, key):
    proxy = Onceward(tmp_path, upstream)
    proxy.config["listen"] = "127.0.0.1:0"
    proxy.config["api"]["listen"] = "127.0.0.1:0"
    proxy.write_config()
    proxy.spawn()
    ports = eventually(lambda: ready_ports(proxy), what="the ready line")
    assert 0 not in ports
    answers = []
    for port in ports:
        with Connection(port) as connection:
            connection.send(request_bytes("POST", "/orders", key=key, json={}))
            answers.append(connection.read("POST"))
    assert [answer for answer in answers if answer.status == 201], answers
    proxy.stop()


def ready_ports(proxy):
    assert proxy.process.poll() is None, proxy.logs()
    for line in proxy.logs().splitlines():
        if re.search(r"listening|ready", line, re.IGNORECASE) and ports_in(line):
            return ports_in(line)
    return None


def ports_in(line):
    return [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", line)]


def test_the_ready_line_is_one_line_and_json_when_piped(serve):
    proxy = serve()
    lines = eventually(lambda: [line for line in proxy.logs().splitlines() if f"127.0.0.1:{proxy.port}" in line],
                       what="the ready line")
    assert len(lines) == 1, lines


def test_logs_to_a_pipe_are_one_json_object_per_line(serve, upstream, key):
    proxy = serve()
    proxy.post(key=key)
    for odd in ('/a"b', "/a\\b", "/\u00ff\u00fe", "/%00%0a", "/{}[],:"):
        proxy.post(odd, key=key)
        proxy.get(odd, headers=[("User-Agent", 'a"b\\c\u00ff')])
    proxy.stop()
    lines = [line for line in proxy.stderr_path.read_text(errors="strict").splitlines() if line.strip()]
    for line in lines:
        assert isinstance(json.loads(line), dict), line


def test_serve_runs_without_a_config_file(tmp_path, upstream, key):
    proxy = Onceward(tmp_path, upstream)
    with open(proxy.stdout_path, "ab") as out, open(proxy.stderr_path, "ab") as err:
        proxy.process = subprocess.Popen(
            [binary(), "serve", "--upstream", upstream.url, "--listen", f"127.0.0.1:{proxy.port}", "--store", "memory",
             "--api", f"127.0.0.1:{proxy.api_port}"], stdout=out, stderr=err, env=environment(), cwd=tmp_path)
    eventually(proxy.accepts, what="serve without a file")
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    proxy.stop()


def test_sigint_ends_like_sigterm(serve):
    proxy = serve()
    proxy.signal(signal.SIGINT)
    assert proxy.ended_with() == 0


def test_a_closed_output_does_not_kill_serve(tmp_path, upstream, key):
    """`onceward serve | head -1` must not take the proxy down with the pipe."""
    proxy = Onceward(tmp_path, upstream)
    proxy.write_config()
    proxy.process = subprocess.Popen([binary(), "serve", "--config", str(proxy.path)], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment())
    eventually(proxy.accepts, what="serve to start")
    proxy.process.stdout.close()
    proxy.process.stderr.close()
    for number in range(5):
        expect.first_answer(proxy.post(key=f"{key}-{number}"))
        proxy.post(key=f"{key}-{number}", json={"other": 1})
    proxy.signal(signal.SIGHUP)  # nobody reads how it went
    assert proxy.post(key=key).status == 201
    proxy.stop()
