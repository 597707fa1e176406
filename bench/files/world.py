"""Both ends of the benchmark behind nginx, which does TLS for them: a sink that reads bodies and drops them, and an origin
that gives each connection so many bytes a second. nginx alone can be neither: it answers before it has read a body, or
writes the body to a file, and its `limit_rate` gives the first second for nothing.

    python3 world.py SINK_SOCKET ORIGIN_SOCKET FOLDER BYTES_PER_SECOND
"""
import os
import re
import socket
import sys
import threading
import time

FIRST_BYTE_SECONDS = 0.03
SLICE_SECONDS = 0.005
ETAG = b'"0123456789abcdef0123456789abcdef"'
BEGUN = (
    b"<InitiateMultipartUploadResult><Bucket>bench</Bucket><Key>file</Key><UploadId>upload-1</UploadId>"
    b"</InitiateMultipartUploadResult>"
)
COMPLETED = b"<CompleteMultipartUploadResult><ETag>" + ETAG + b"</ETag></CompleteMultipartUploadResult>"


def read_head(stream):
    line = stream.readline()
    headers = {}
    while True:
        header = stream.readline()
        if header in (b"\r\n", b""):
            return line, headers
        name, _, value = header.partition(b":")
        headers[name.lower()] = value.strip()


def serve_sink(connection):
    stream = connection.makefile("rb", 1 << 16)
    drain = memoryview(bytearray(1 << 20))

    def drop(count):
        while count:
            got = stream.readinto1(drain[: min(count, len(drain))])
            if not got:
                raise EOFError
            count -= got

    while True:
        line, headers = read_head(stream)
        if not line:
            return
        if headers.get(b"transfer-encoding") == b"chunked":
            while size := int(stream.readline(), 16):
                drop(size)
                stream.readline()
            stream.readline()
        else:
            drop(int(headers.get(b"content-length", 0)))
        answer = b"" if line.startswith(b"PUT") else BEGUN if b"?uploads" in line else COMPLETED
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n%b"
            % (ETAG, len(answer), answer)
        )


def serve_origin(connection, folder, rate):
    stream = connection.makefile("rb", 1 << 16)
    while True:
        line, headers = read_head(stream)
        if not line:
            return
        path = os.path.join(folder, line.split()[1].decode().lstrip("/"))
        size = os.path.getsize(path)
        asked = re.fullmatch(rb"bytes=(\d+)-(\d*)", headers.get(b"range", b""))
        begin = int(asked[1]) if asked else 0
        end = min(size, int(asked[2]) + 1) if asked and asked[2] else size
        range_line = f"Content-Range: bytes {begin}-{end - 1}/{size}\r\n" if asked else ""
        time.sleep(FIRST_BYTE_SECONDS)
        connection.sendall(
            f"HTTP/1.1 {'206 Partial Content' if asked else '200 OK'}\r\nContent-Type: text/csv\r\n"
            f'ETag: "{size:x}"\r\nAccept-Ranges: bytes\r\n{range_line}Content-Length: {end - begin}\r\n\r\n'.encode()
        )
        with open(path, "rb") as file:
            paced(connection, file, begin, end, rate)


def paced(connection, file, begin, end, rate):
    started = time.monotonic()
    at = begin
    while at < end:
        # A late wake-up is made up for, but by at most a tenth of a second.
        due = begin + int((time.monotonic() - started + SLICE_SECONDS) * rate)
        if due - at > rate / 10:
            started += (due - at) / rate - SLICE_SECONDS
            due = at + int(SLICE_SECONDS * rate)
        while at < min(due, end):
            at += os.sendfile(connection.fileno(), file.fileno(), at, min(due, end) - at)
        time.sleep(SLICE_SECONDS)


def listen(path, serve):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)

    def answer(connection):
        try:
            serve(connection)
        except (EOFError, OSError):
            pass
        finally:
            connection.close()

    while True:
        connection = server.accept()[0]
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


sink, origin, folder, rate = sys.argv[1:]
threading.Thread(target=listen, args=(sink, serve_sink), daemon=True).start()
listen(origin, lambda connection: serve_origin(connection, folder, float(rate)))
