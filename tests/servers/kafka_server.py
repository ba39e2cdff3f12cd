"""librdkafka's mock cluster as a process (tests/brokers/kafka_server.cpp): no broker, but it speaks the protocol to real
clients. It ends with stop()."""
import json
import subprocess
import threading


class Cluster:
    """`servers` is what clients connect to; the methods are a test's own hands on the topics."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._lock = threading.Lock()
        self._partitions = {}
        self.servers = self.process.stdout.readline().strip()

    def url(self, topic):
        return f"kafka://{self.servers}/{topic}"

    def make(self, topic, partitions=1):
        self._ask("topic", topic, partitions)
        self._partitions[topic] = partitions

    def put(self, topic, id, body, key="k", headers=None):
        self._ask("put", topic, key, id, body, *(word for pair in (headers or {}).items() for word in pair))

    def read(self, topic):
        """Everything that is there: [{partition, key, headers, body}], in order within a partition."""
        return self._ask("read", topic, self._partitions[topic])

    def committed(self, group, topic):
        """How far a topic of one partition has been acknowledged by a group; negative: not at all."""
        return self._ask("committed", group, topic)

    def _ask(self, *words):
        assert not any("\t" in str(word) or "\n" in str(word) for word in words), words
        with self._lock:
            self.process.stdin.write("\t".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
