"""What a service manager that started the proxy is told, by datagrams to $NOTIFY_SOCKET."""

import signal
import socket


def test_the_service_manager_hears_of_start_reload_and_stop(serve, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        proxy = serve(env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert manager.recv(100) == b"READY=1"
        proxy.signal(signal.SIGHUP)
        assert [manager.recv(100) for _ in range(2)] == [b"RELOADING=1", b"READY=1"]
        proxy.signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
        assert proxy.ended_with() == 0


def test_a_service_manager_that_is_not_there_changes_nothing(serve, tmp_path):
    proxy = serve(env={"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert proxy.get("/").status == 200
