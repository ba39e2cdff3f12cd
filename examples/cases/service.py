#!/usr/bin/env python3
"""A small service that knows nothing of bulk requests and little of retries: it opens cases and approves them, one
request each. Put Onceward before it (onceward.yaml) and many can be approved under one key."""

import argparse
import http.server
import json
import re
import threading

CASES = {}  # number -> how often it was approved; more than once would be a mistake
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, CASES)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/cases":
            return self.open_case(asked)
        approve = re.fullmatch(r"/cases/([^/]+)/approve", self.path)
        return self.approve(approve[1]) if approve else self.answer(404, {"code": "NO_SUCH_PLACE"})

    def open_case(self, asked):
        with LOCK:
            number = f"C-{len(CASES) + 1}"
            CASES[number] = 0
        self.answer(201, {"case": number, "customer": asked.get("customer")}, Location=f"/cases/{number}")

    def approve(self, number):
        if number not in CASES:
            return self.answer(404, {"code": "NO_SUCH_CASE"}, "application/problem+json")
        with LOCK:
            CASES[number] += 1
        return self.answer(200, {"case": number, "approved": True}, **{"Onceward-Resource": f"approval/{number}"})

    def answer(self, status, value, content_type="application/json", **headers):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": content_type, "Content-Length": len(body), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=9000, help="0: any free one")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"cases at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
