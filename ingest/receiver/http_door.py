"""OTLP over HTTP: protobuf and JSON, gzip, limits before and after decompression.

Owns the status codes of the OTLP specification: 200 once the data is on the disk, 400 for what
will never be taken, 413 for what is too large, 503 with `Retry-After` for what may come again.
"""

import asyncio
import gzip
import io
import sqlite3
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from google.rpc.status_pb2 import Status
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ingest.receiver.inbox import InboxFullError
from ingest.receiver.intake import JSON, PROTOBUF, BadRequestError, Taken, answer
from ingest.receiver.reception import (
    RETRY_AFTER_S,
    STORE_TIMEOUT_S,
    BusyError,
    Reception,
    Tokens,
    not_stored,
)
from ingest.receiver.signals import SIGNALS, Signal

DOOR = "otlp/http"
ENCODINGS = {"application/x-protobuf": PROTOBUF, "application/json": JSON}
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE, UNAUTHENTICATED = 3, 8, 14, 16
"""Codes of google.rpc.Code, which an answer that is no 200 carries."""
CLIENT_GONE = 499
"""Status of a request whose sender hung up before its end; nobody reads the answer."""


class RefusalError(Exception):
    """A request that is not acknowledged: the HTTP status, the code of the answer, and why."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def http_app(
    reception: Reception, tokens: Tokens, health: Callable[[], dict[str, object]]
) -> Starlette:
    """The HTTP door as an application; `health` says how the receiver is."""

    def exported(signal: Signal) -> Route:
        async def export(request: Request) -> Response:
            return await _export(signal, request, reception, tokens)

        return Route(signal.path, export, methods=["POST"])

    async def healthz(_request: Request) -> Response:
        found = health()
        return JSONResponse(found, status_code=200 if found["status"] == "ok" else 503)

    return Starlette(
        routes=[
            *(exported(signal) for signal in SIGNALS),
            Route("/healthz", healthz, methods=["GET"]),
        ]
    )


async def _export(
    signal: Signal, request: Request, reception: Reception, tokens: Tokens
) -> Response:
    encoding = None
    try:
        _admit(request, tokens)
        encoding = _encoding_of(request)
        body = await _body(request, reception.limits.body)
        compression = request.headers.get("content-encoding", "identity").strip().lower()
        taken = await _stored(
            reception,
            lambda: _decompressed(body, compression, reception.limits.body),
            signal,
            encoding,
        )
    except ClientDisconnect:
        reception.count(DOOR, "refused")
        return Response(status_code=CLIENT_GONE)
    except RefusalError as error:
        outcome = "busy" if error.status == 503 else "refused"
        reception.count(DOOR, outcome)
        return _refusal(error, encoding or JSON)
    reception.count(DOOR, "acknowledged", taken)
    return _acknowledgement(signal, taken, encoding)


async def _stored(
    reception: Reception, unpack: Callable[[], bytes], signal: Signal, encoding: str
) -> Taken:
    def take() -> "tuple[Taken, Future[None]]":
        return reception.take(signal, unpack(), encoding, DOOR)

    try:
        taken, stored = await run_in_threadpool(take)
        await asyncio.wait_for(asyncio.wrap_future(stored), STORE_TIMEOUT_S)
    except BadRequestError as error:
        raise RefusalError(400, INVALID_ARGUMENT, str(error)) from error
    except (InboxFullError, BusyError) as error:
        raise RefusalError(503, UNAVAILABLE, str(error)) from error
    except (sqlite3.Error, TimeoutError) as error:
        raise RefusalError(503, UNAVAILABLE, not_stored(error)) from error
    return taken


def _admit(request: Request, tokens: Tokens) -> None:
    if not tokens.allow(request.headers.get("authorization")):
        raise RefusalError(401, UNAUTHENTICATED, "show a bearer token that the receiver knows")


def _encoding_of(request: Request) -> str:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in ENCODINGS:
        raise RefusalError(
            415,
            INVALID_ARGUMENT,
            f"{media_type or 'no content type'}: send {' or '.join(ENCODINGS)}",
        )
    return ENCODINGS[media_type]


async def _body(request: Request, most: int) -> bytes:
    """The body; one that is announced as larger than `most` is not waited for."""
    announced = request.headers.get("content-length", "")
    _limit(int(announced) if announced.isdecimal() else 0, most)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        _limit(size, most)
        chunks.append(chunk)
    return b"".join(chunks)


def _limit(size: int, most: int) -> None:
    if size > most:
        raise RefusalError(
            413, RESOURCE_EXHAUSTED, f"the body has more than {most:,} bytes; send less at once"
        )


def _decompressed(body: bytes, compression: str, most: int) -> bytes:
    if compression == "identity":
        return body
    if compression not in UNPACKERS:
        raise RefusalError(415, INVALID_ARGUMENT, f"content encoding {compression}: send gzip")
    try:
        unpacked = UNPACKERS[compression](body, most + 1)
    except EOFError as error:
        reason = f"truncated {compression}: its end is missing"
        raise RefusalError(400, INVALID_ARGUMENT, reason) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise RefusalError(400, INVALID_ARGUMENT, f"damaged {compression}: {error}") from error
    if len(unpacked) > most:
        raise RefusalError(
            413, RESOURCE_EXHAUSTED, f"the body has more than {most:,} bytes unpacked"
        )
    return unpacked


def _of_gzip(body: bytes, size: int) -> bytes:
    """Up to `size` bytes of all members; raises `EOFError` where the end is missing."""
    if not body:
        raise EOFError
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
        return stream.read(size)


def _of_deflate(body: bytes, size: int) -> bytes:
    """Up to `size` bytes; raises `EOFError` where the end is missing."""
    inflate = zlib.decompressobj()
    unpacked = inflate.decompress(body, size)
    if len(unpacked) < size and not inflate.eof:
        raise EOFError
    if inflate.unused_data:
        raise zlib.error("bytes follow its end")
    return unpacked


UNPACKERS: dict[str, Callable[[bytes, int], bytes]] = {"gzip": _of_gzip, "deflate": _of_deflate}


def _acknowledgement(signal: Signal, taken: Taken, encoding: str) -> Response:
    if encoding == PROTOBUF:
        return _protobuf(answer(signal, taken), 200)
    partial = {signal.rejected_key: str(taken.rejected), "errorMessage": taken.message}
    return JSONResponse({"partialSuccess": partial} if taken.rejected else {})


def _refusal(error: RefusalError, encoding: str) -> Response:
    if encoding == JSON:
        response: Response = JSONResponse(
            {"code": error.code, "message": str(error)}, status_code=error.status
        )
    else:
        response = _protobuf(Status(code=error.code, message=str(error)), error.status)
    if error.status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _protobuf(message: Any, status: int) -> Response:
    return Response(
        message.SerializeToString(), status_code=status, media_type="application/x-protobuf"
    )
