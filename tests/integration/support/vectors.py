"""The public framing vectors as bytes on the wire."""

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "vectors" / "http-framing"

# A second request hidden behind each one that must be refused: it must never be seen anywhere.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n"


class Vector:
    def __init__(self, name, tier, head, headers, target):
        self.name, self.tier, self.head, self.headers, self.target = name, tier, head, headers, target

    def target_bytes(self):
        """What goes to the upstream. No target at all means the root."""
        return _bytes(self.target) or b"/"

    def body(self):
        for name, value in self.headers:
            if name.strip().lower() == "content-length" and value.strip(" ").isdigit():
                return b"x" * int(value)
            if name.strip().lower() == "transfer-encoding":
                return b"0\r\n\r\n"
        return b""


def desync_guardian():
    vectors = []
    for number, line in enumerate((FOLDER / "desync-guardian.jsonl").read_text().splitlines()):
        entry = json.loads(line)
        headers = [(header["name"], str(header["value"])) for header in entry["headers"] or []]
        words = [entry["method"], entry["uri"]] + ([entry["version"]] if entry["version"] else [])
        lines = [_bytes(" ".join(words))]
        if not any(name.lower() == "host" for name, _ in headers):
            lines.append(b"Host: api.test")
        lines += [_bytes(name) + b":" + _bytes(value) for name, value in headers]
        name = f"{number}-{entry['src'].split('/')[1]}-{entry['name']}"
        vectors.append(Vector(_plain(name), entry["expected"]["tier"], b"\r\n".join(lines) + b"\r\n\r\n", headers,
                              entry["uri"]))
    return vectors


def llhttp(kind):
    """(name, bytes) of all vectors of a kind: "request" or "response"."""
    found = []
    for number, line in enumerate((FOLDER / "llhttp.jsonl").read_text().splitlines()):
        entry = json.loads(line)
        if f"/{kind}/" in entry["src"]:
            found.append((f"{number}-{entry['src'].rsplit('/', 1)[1]}", _unescape(entry["text"])))
    return found


def _unescape(text):
    """The notation of that project: line ends are CRLF, an escaped line end is none, the rest as in C."""
    text = re.sub(r"\\(\r\n|\r|\n)", "", text)
    text = re.sub(r"\r\n|\r|\n", "\r\n", text)
    for escaped, meant in (("\\r", "\r"), ("\\n", "\n"), ("\\t", "\t"), ("\\f", "\f")):
        text = text.replace(escaped, meant)
    text = re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match.group(1), 16)), text)
    return _bytes(text)


def _bytes(text):
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")


def _plain(text):
    return re.sub(r"[^A-Za-z0-9 .:,;=_\-]", "?", text)
