"""Bodies that do not come as announced, that are too large, or that come in several parts."""

import gzip
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import httpx
import pytest

Start = Callable[..., Any]
LIMIT = 2**20
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def begun(address: str, length: int) -> socket.socket:
    """A request that announces `length` bytes and has sent one of them."""
    url = urlsplit(address)
    connection = socket.create_connection((url.hostname, url.port), timeout=60)
    head = ("POST /v1/traces HTTP/1.1", "Host: gpuledger", "Content-Type: application/json")
    lines = "\r\n".join((*head, f"Content-Length: {length}", "", "{"))
    connection.sendall(lines.encode())
    return connection


def test_a_body_that_is_announced_as_too_large_is_refused_before_it_comes(start: Start) -> None:
    with begun(start("--max-body", "1").http, 2**20 + 1) as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_sender_that_hangs_up_leaves_no_trace_of_the_program_in_the_log(start: Start) -> None:
    receiver = start()
    begun(receiver.http, 100).close()
    assert receiver.health()["status"] == "ok"
    assert receiver.stop() == 0
    assert "Traceback" not in receiver.process.stderr.read()


def sent_by_http(receiver: Any, body: bytes, compression: str | None) -> int:
    """The HTTP status of the answer."""
    headers = {"content-type": "application/x-protobuf"}
    if compression is not None:
        headers["content-encoding"] = compression
    url = f"{receiver.http}/v1/traces"
    return httpx.post(url, content=body, headers=headers, timeout=60).status_code


def sent_by_grpc(receiver: Any, body: bytes, compression: grpc.Compression) -> grpc.StatusCode:
    """The gRPC status of the answer."""
    with grpc.insecure_channel(receiver.grpc) as channel:
        try:
            channel.unary_unary(EXPORT)(body, compression=compression, timeout=60)
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            return code
    return grpc.StatusCode.OK


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
def test_both_doors_hold_one_limit_before_and_after_decompression(
    one_mib_receiver: Any, request_of: Callable[..., Any], is_compressed: bool
) -> None:
    request = request_of(range(1, 2), note=lambda: "x" * (LIMIT - 2000))
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.name = "y" * 200
    span.name += "y" * (LIMIT - request.ByteSize())
    assert request.ByteSize() == LIMIT
    whole = request.SerializeToString()
    span.name += "y"
    beyond = request.SerializeToString()
    pack, name, kind = (
        (gzip.compress, "gzip", grpc.Compression.Gzip)
        if is_compressed
        else (bytes, None, grpc.Compression.NoCompression)
    )
    by_http = [sent_by_http(one_mib_receiver, pack(body), name) for body in (whole, beyond)]
    by_grpc = [sent_by_grpc(one_mib_receiver, body, kind) for body in (whole, beyond)]
    assert by_http == [200, 413]
    assert by_grpc == [grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED]


def test_all_members_of_a_gzip_body_are_read(
    start: Start, request_of: Callable[..., Any], calls_in: Callable[[Path], list[tuple[int, int]]]
) -> None:
    receiver = start("--max-body", "1")
    first = gzip.compress(request_of(range(1, 3)).SerializeToString())
    second = gzip.compress(request_of(range(3, 5)).SerializeToString())
    half = gzip.compress(b"\0" * (LIMIT // 2 + 1))
    assert sent_by_http(receiver, first + second, "gzip") == 200
    assert sent_by_http(receiver, half + half, "gzip") == 413
    assert sent_by_http(receiver, first + second[:-1], "gzip") == 400
    assert sent_by_http(receiver, first + b"no member", "gzip") == 400
    receiver.wait_until_settled()
    assert calls_in(receiver.ledger_path) == [(number, 7) for number in range(1, 5)]


def test_a_deflated_body_is_whole_and_within_the_limit(
    one_mib_receiver: Any, request_of: Callable[..., Any]
) -> None:
    body = zlib.compress(request_of(range(1, 3)).SerializeToString())
    bodies = [body, body[:-1], body + b"x", b"x", b"", zlib.compress(b"\0" * (LIMIT + 1))]
    codes = [sent_by_http(one_mib_receiver, body, "deflate") for body in bodies]
    assert codes == [200, 400, 400, 400, 400, 413]
