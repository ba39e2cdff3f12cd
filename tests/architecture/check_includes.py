#!/usr/bin/env python3
"""Fails on an include that points the wrong way between modules.

usage: check_includes.py ROOT        check the tree
       check_includes.py --self-test check that each kind of wrong include is noticed
"""
import pathlib
import re
import sys

# Module -> modules it may include, besides itself and the public headers.
MAY = {
    "base": set(),
    "core": {"base"},
    "engine": {"core", "base"},
    "net": {"base"},
    "http": {"base", "net"},
    "client": {"core", "base", "net", "http"},
    "ops": {"engine", "core", "base", "net", "http"},
    "proxy": {"engine", "core", "base", "net", "http", "ops"},
    "messaging": {"engine", "core", "base", "net", "http"},
    "sidecar": {"messaging", "proxy", "ops", "engine", "core", "base", "net", "http"},
    "api": {"engine", "core", "base", "net", "http", "ops"},
    "config": {"proxy", "ops", "core", "base"},
    "factory": {"config", "core", "base", "net", "stores"},
    "library": {"config", "factory", "proxy", "ops", "engine", "core", "base", "net", "http"},
    "cli": {"client", "config", "factory", "messaging", "sidecar", "proxy", "api", "ops", "engine", "core", "base", "net", "http", "stores"},
}
STORE_MAY = {"core", "base", "net"}
BOOST_NET = re.compile(r"^boost/(asio|beast)")
BOOST_JSON = re.compile(r"^boost/json")
JSON_MODULES = {"ops", "cli", "proxy", "api", "messaging"}
PUBLIC_HTTP = {"onceward/executor.hpp", "onceward/result.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    """The module of a path below src/, or None for src/main.cpp."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "stores":
        return "/".join(parts[:2]) if len(parts) > 1 else "stores"
    return parts[0] if len(parts) > 1 else None


def complaint(path, quoted, name):
    """What is wrong with this include in the file `path` (relative to the root), or None."""
    if path.startswith("include/"):
        if quoted and not name.startswith("onceward/"):
            return "a public header includes only std and public headers"
        adapted = path.startswith("include/onceward/middleware/") or path == "include/onceward/asio.hpp"
        if not quoted and "/" in name and not (adapted and BOOST_NET.match(name)):
            return "a public header includes only std and public headers"
        return None
    module = module_of(path.removeprefix("src/"))
    if module is None:
        return None
    # Unit tests may use what tests share, and read published vectors, which are JSON.
    is_test = path.endswith(("_test.cpp", "_fixture.hpp"))
    if is_test and (name.startswith("support/") or BOOST_JSON.match(name)):
        return None
    if BOOST_NET.match(name) and module != "http":
        return "Asio and Beast belong to http"
    if BOOST_JSON.match(name) and module not in JSON_MODULES:
        return "Boost.JSON belongs to ops, cli, proxy, api and messaging"
    if not quoted:
        return None
    if name.startswith("onceward/"):
        if module in ("net", "http") and name not in PUBLIC_HTTP:
            return f"{module} knows nothing of idempotency"
        return None
    target = module_of(name)
    if target is None or target == module:
        return None
    if module.startswith("stores/"):
        if target.startswith("stores/"):
            return "stores never include each other"
        return None if target in STORE_MAY else f"{module} may not include {target}"
    if target.startswith("stores/"):
        return None if module in ("cli", "factory") else "only the factory and cli name concrete stores"
    return None if target in MAY.get(module, set()) else f"{module} may not include {target}"


def check_tree(root):
    wrong = []
    files = 0
    for folder in ("include", "src"):
        for file in sorted((root / folder).rglob("*.?pp")):
            files += 1
            path = file.relative_to(root).as_posix()
            for quote, name in INCLUDE.findall(file.read_text()):
                why = complaint(path, quote == '"', name)
                if why:
                    wrong.append(f"{path}: {name}: {why}")
    if files == 0:
        wrong.append(f"no sources under {root}")
    return wrong


def self_test():
    noticed = [
        ("src/base/task.hpp", True, "core/policy.hpp"),
        ("src/core/decide.cpp", True, "engine/engine.hpp"),
        ("src/core/decide.cpp", True, "http/head.hpp"),
        ("src/http/head.cpp", True, "core/policy.hpp"),
        ("src/http/head.cpp", True, "onceward/store.hpp"),
        ("src/engine/engine.cpp", True, "stores/memory/memory_store.hpp"),
        ("src/engine/engine.cpp", True, "proxy/routes.hpp"),
        ("src/engine/engine.cpp", False, "boost/asio.hpp"),
        ("src/core/json_value.cpp", False, "boost/json.hpp"),
        ("src/core/decide.cpp", True, "support/fakes.hpp"),
        ("src/core/decide_test.cpp", True, "engine/engine.hpp"),
        ("src/ops/log.cpp", True, "proxy/routes.hpp"),
        ("src/api/api.cpp", True, "proxy/routes.hpp"),
        ("src/api/api.cpp", True, "messaging/event_sink.hpp"),
        ("src/messaging/event_sink.hpp", True, "ops/log.hpp"),
        ("src/proxy/proxy.cpp", True, "api/api.hpp"),
        ("src/ops/log.cpp", True, "stores/memory/memory_store.hpp"),
        ("src/config/config_load.cpp", True, "cli/commands.hpp"),
        ("src/library/host.cpp", True, "stores/memory/memory_store.hpp"),
        ("include/onceward/engine.hpp", False, "boost/asio/post.hpp"),
        ("src/stores/memory/memory_store.cpp", True, "stores/embedded/file.hpp"),
        ("src/stores/memory/memory_store.cpp", True, "engine/engine.hpp"),
        ("include/onceward/store.hpp", True, "core/policy.hpp"),
        ("include/onceward/store.hpp", False, "boost/asio.hpp"),
    ]
    allowed = [
        ("src/core/decide.cpp", True, "base/assert.hpp"),
        ("src/core/decide.cpp", True, "onceward/store.hpp"),
        ("src/core/decide.cpp", False, "vector"),
        ("src/http/worker.cpp", False, "boost/asio/io_context.hpp"),
        ("src/http/worker.cpp", True, "onceward/executor.hpp"),
        ("src/factory/open_store.cpp", True, "stores/memory/memory_store.hpp"),
        ("src/engine/engine_test.cpp", True, "support/fakes.hpp"),
        ("src/main.cpp", True, "cli/cli.hpp"),
        ("include/onceward/asio.hpp", False, "boost/asio/post.hpp"),
        ("src/library/host.cpp", True, "factory/open_store.hpp"),
        ("include/onceward/store.hpp", True, "onceward/values.hpp"),
    ]
    wrong = [f"not noticed: {case}" for case in noticed if not complaint(*case)]
    wrong += [f"wrongly noticed: {case}" for case in allowed if complaint(*case)]
    return wrong


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wrong = self_test() if sys.argv[1] == "--self-test" else check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong) if wrong else "every include points the right way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
