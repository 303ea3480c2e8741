"""An HTTP proxy in front of an object store that does what networks and stores do on bad days.

A fault is a function of the request (method, path) that returns the name of what goes wrong, or
None. Names: `reset` (the connection ends before the request reaches the store), `lost` (the store
does it, and the answer is lost), `cut` (half of the answer), `500`, `slowdown`, `slow`, `skewed`,
`expired`, `denied`, `no-conditions`, `absent`, `inside` and `denied-inside` (an error inside an
answer of 200), `silent` (never answers).
"""

import contextlib
import http.client
import socket
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOW_S = 0.4
ERRORS = {
    "500": (500, "InternalError", 0),
    "slowdown": (503, "SlowDown", 0),
    "skewed": (403, "RequestTimeTooSkewed", 3600),
    "expired": (400, "ExpiredToken", 0),
    "denied": (403, "AccessDenied", 0),
    "no-conditions": (501, "NotImplemented", 0),
    "absent": (404, "NoSuchKey", 0),
    "inside": (200, "InternalError", 0),
    "denied-inside": (200, "AccessDenied", 0),
}


class Proxy:
    def __init__(self, upstream_port, fault=lambda method, path, headers: None):
        self.upstream_port = upstream_port
        self.fault = fault
        self.seen = []  # (method, path, what went wrong)
        self.lock = threading.Lock()
        self.over = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def setup(self):
                super().setup()
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def handle_one_request(self):
                with contextlib.suppress(ConnectionError, http.client.HTTPException, OSError):
                    super().handle_one_request()
                    return
                self.close_connection = True

            def do(self):
                proxy.serve(self)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def count(self, fault):
        with self.lock:
            return sum(1 for _, _, what in self.seen if what == fault)

    def serve(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        with self.lock:
            fault = self.fault(request.command, request.path, request.headers)
            self.seen.append((request.command, request.path, fault))
        if fault == "reset":
            self.hang_up(request)
        elif fault == "silent":
            self.over.wait()
            self.hang_up(request)
        elif fault in ERRORS:
            self.refuse(request, *ERRORS[fault])
        else:
            if fault == "slow":
                time.sleep(SLOW_S)
            self.pass_on(request, body, fault)

    @staticmethod
    def hang_up(request):
        request.close_connection = True
        with contextlib.suppress(OSError):
            request.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def refuse(request, status, code, skew_s):
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>told</Message></Error>"
        request.send_response_only(status)
        request.send_header("Date", formatdate(time.time() + skew_s, usegmt=True))
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(text.encode())

    def pass_on(self, request, body, fault):
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream_port, timeout=60)
        try:
            upstream.putrequest(request.command, request.path, skip_host=True,
                                skip_accept_encoding=True)
            for name, value in request.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body or None)
            answer = upstream.getresponse()
            data = answer.read()
        except OSError:
            self.hang_up(request)  # the store is down
            return
        finally:
            upstream.close()
        if fault == "lost":
            self.hang_up(request)
            return
        request.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                request.send_header(name, value)
        length = answer.getheader("Content-Length") or str(len(data))
        request.send_header("Content-Length", length)
        request.end_headers()
        if request.command == "HEAD":
            return
        if fault == "cut" and len(data) > 1:
            request.wfile.write(data[:len(data) // 2])
            self.hang_up(request)
            return
        request.wfile.write(data)
