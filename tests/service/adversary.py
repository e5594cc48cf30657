"""A program that tries to be somebody else: it speaks HTTP/2 itself, so that it can use any connection in any way.

``adversary.py JOB`` reads a JSON object: ``plan`` is one of the functions below, ``socket`` where to dial, ``calls``
the calls to make as [method, request in hex, metadata], ``times`` how often. It writes the answers, in hex or null for
an error, to JOB with the ending ``.out``. It needs nothing but the standard library, so it starts at once.
"""

import json
import os
import secrets
import socket
import sys

_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4


class Connection:
    """One HTTP/2 connection for unary gRPC calls, made by whoever connected the socket."""

    def __init__(self, end):
        self.end = end
        self.stream = -1
        self.received = b""
        self.begun = False

    def call(self, method, request, metadata=()):
        """Return the answer's bytes, None when there is none."""
        try:
            return self.exchange(method, request, metadata)
        except OSError:
            return None

    def exchange(self, method, request, metadata):
        if not self.begun:
            self.begun = True
            self.end.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            self.send(_SETTINGS, 0, 0)
        self.stream += 2
        fields = [(":method", "POST"), (":scheme", "http"), (":path", f"/{method}"), (":authority", "localhost")]
        fields += [("te", "trailers"), ("content-type", "application/grpc"), *metadata]
        block = b"".join(b"\0" + _text(name) + _text(value) for name, value in fields)
        self.send(_HEADERS, _END_HEADERS, self.stream, block)
        self.send(_DATA, _END_STREAM, self.stream, b"\0" + len(request).to_bytes(4, "big") + request)
        answer = b""
        while True:
            frame = self.read()
            if frame is None:
                return None
            kind, flags, stream, payload = frame
            if kind == _SETTINGS and not flags & _ACK:
                self.send(_SETTINGS, _ACK, 0)
            elif kind == _PING and not flags & _ACK:
                self.send(_PING, _ACK, 0, payload)
            elif stream == self.stream and kind == _DATA:
                answer += payload
                if payload:
                    self.send(_WINDOW_UPDATE, 0, 0, len(payload).to_bytes(4, "big"))
            if stream == self.stream and kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                return answer[5:] if answer else None

    def send(self, kind, flags, stream, payload=b""):
        head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
        self.end.sendall(head + payload)

    def read(self):
        while len(self.received) < 9 or len(self.received) < 9 + int.from_bytes(self.received[:3], "big"):
            more = self.end.recv(1 << 16)
            if not more:
                return None
            self.received += more
        size = int.from_bytes(self.received[:3], "big")
        head, payload, self.received = self.received[:9], self.received[9 : 9 + size], self.received[9 + size :]
        return head[3], head[4], int.from_bytes(head[5:9], "big"), payload


def _text(text):
    """A header's name or value, unpacked, behind its length of seven bits and more."""
    data = text.encode()
    if len(data) < 127:
        return bytes((len(data),)) + data
    rest, size = len(data) - 127, b"\x7f"
    while rest >= 128:
        size += bytes((rest % 128 + 128,))
        rest //= 128
    return size + bytes((rest,)) + data


def dial(path, name=None):
    """Connect a socket, from a name of one's own if given."""
    end = socket.socket(socket.AF_UNIX)
    if name is not None:
        end.bind(name)
    end.connect(path)
    return Connection(end)


def plain(job, calls):
    """Make the calls over one connection."""
    connection = dial(job["socket"])
    return [connection.call(*call) for _ in range(job["times"]) for call in calls]


def inherit(job, calls):
    """Call, then as a child while the connector lives, then as the child of a connector that is gone."""
    connection = dial(job["socket"])
    answers = [connection.call(*calls[0])]
    alive, held = os.pipe()
    told, tell = os.pipe()
    if os.fork():
        os.close(held)
        os.read(alive, 1)  # until the child has called
        os._exit(0)
    parent = os.getppid()
    os.close(tell)
    answers.append(connection.call(*calls[0]))
    os.close(held)
    os.read(told, 1)  # until the parent's end is closed, which is when it is gone
    while os.getppid() == parent:
        pass
    answers.append(connection.call(*calls[0]))
    return answers


def orphans(job, calls):
    """Let another process make each connection and be gone before it is used."""
    answers = []
    for number in range(job["times"]):
        end = socket.socket(socket.AF_UNIX)
        child = os.fork()
        if not child:
            end.connect(job["socket"])
            os._exit(0)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        if number % 4 < 2:  # the others stay as zombies, which can still be read
            os.waitpid(child, 0)
        answers.append(Connection(end).call(*calls[number % len(calls)]))
        if number % 4 >= 2:
            os.waitpid(child, 0)
        end.close()
    return answers


def guesses(job, calls):
    """Go round the front door, from names such as its own."""
    answers = []
    for number in range(job["times"]):
        connection = dial(job["socket"], f"\0prowl-{secrets.token_hex(16)}" if number else None)
        answers.append(connection.call(*calls[number % len(calls)]))
        connection.end.close()
    return answers


def tokens(job, calls):
    """Make the calls with a token of one's own making in place of each, over one connection."""
    connection = dial(job["socket"])
    method, request, metadata = calls[0]
    mark = job["token"].encode()
    return [
        connection.call(method, request.replace(mark, secrets.token_urlsafe(32).encode()), metadata)
        for _ in range(job["times"])
    ]


def main():
    """Carry out the job."""
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    calls = [(method, bytes.fromhex(request), metadata) for method, request, metadata in job["calls"]]
    answers = {plan.__name__: plan for plan in (plain, inherit, orphans, guesses, tokens)}[job["plan"]](job, calls)
    with open(sys.argv[1] + ".tmp", "w", encoding="utf-8") as file:
        json.dump([None if answer is None else answer.hex() for answer in answers], file)
    os.rename(sys.argv[1] + ".tmp", sys.argv[1] + ".out")


if __name__ == "__main__":
    main()
