#!/usr/bin/env python3
"""An order service that keeps its orders, its answers and its events in one PostgreSQL transaction (see README.md).

usage: service.py --database DSN [--port PORT] [--die-at STEP]

STEP is where the process ends itself, as a crash would: begin, insert, emit, finish or commit (just before that
statement), answer (committed, nothing sent), half-answer (committed, half of the answer sent).
"""
import argparse
import http.server
import json
import os

import psycopg2

STEPS = ("begin", "insert", "emit", "finish", "commit", "answer", "half-answer")
JSON = "application/json"
TABLE = """CREATE TABLE IF NOT EXISTS orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, operation_id uuid NOT NULL, item text NOT NULL)"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        token = self.headers.get("Onceward-Token")
        if self.path != "/orders" or not token:
            return self.answer(404 if token else 400, {}, b"{}")
        connection = psycopg2.connect(self.server.database)
        try:
            status, headers, body = self.create_order(connection, token, order)
        except psycopg2.Error as error:
            # Rolled back: nothing happened, and the request may come again.
            status, headers, body = 503, {}, json.dumps({"error": str(error).splitlines()[0]}).encode()
        finally:
            connection.close()
        self.die_at("answer")
        self.answer(status, headers, body)

    def create_order(self, connection, token, order):
        with connection, connection.cursor() as cursor:  # commits at its end, or rolls back
            self.die_at("begin")
            cursor.execute("SELECT decision, operation_id, status, body FROM onceward.begin(%s)", (token,))
            decision, operation_id, status, stored = cursor.fetchone()
            if decision == "finished":  # a copy of this request was here before
                return status, {}, bytes(stored)
            self.die_at("insert")
            cursor.execute("INSERT INTO orders (operation_id, item) VALUES (%s, %s) RETURNING id",
                           (operation_id, order["item"]))
            number = cursor.fetchone()[0]
            body = json.dumps({"id": number, "item": order["item"]})
            self.die_at("emit")
            cursor.execute("SELECT onceward.emit(%s, 'order.created', %s)", (token, body))
            headers = {"Content-Type": JSON, "Location": f"/orders/{number}"}
            self.die_at("finish")
            cursor.execute("SELECT onceward.finish(%s, 201, %s, %s)", (token, json.dumps(headers), body))
            self.die_at("commit")
        return 201, headers, body.encode()

    def do_GET(self):
        connection = psycopg2.connect(self.server.database)
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT coalesce(json_agg(o ORDER BY o.id), '[]')::text FROM orders o")
            body = cursor.fetchone()[0].encode()
        connection.close()
        self.answer(200, {"Content-Type": JSON}, body)

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.die_at == "half-answer" and status == 201:
            self.wfile.write(body[:len(body) // 2])
            os._exit(1)
        self.wfile.write(body)

    def die_at(self, step):
        if self.server.die_at == step:
            os._exit(1)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="orders in one transaction")
    parser.add_argument("--database", required=True)
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--die-at", choices=STEPS)
    options = parser.parse_args()
    connection = psycopg2.connect(options.database)
    with connection, connection.cursor() as cursor:
        cursor.execute(TABLE)
    connection.close()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    server.database, server.die_at = options.database, options.die_at
    print(f"orders on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
