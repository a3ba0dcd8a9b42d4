"""OTLP over gRPC.

Owns the gRPC status codes: OK once the data is on the disk, INVALID_ARGUMENT for what will never
be taken, UNAVAILABLE for what may come again. The library itself refuses messages beyond the
limit with RESOURCE_EXHAUSTED, before and after decompression.
"""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc

from ingest.errors import LedgerError
from ingest.receiver.address import Address
from ingest.receiver.inbox import InboxFullError
from ingest.receiver.intake import PROTOBUF, BadRequestError, answer
from ingest.receiver.reception import STORE_TIMEOUT_S, BusyError, Reception, Tokens, not_stored
from ingest.receiver.signals import SIGNALS, Signal

DOOR = "otlp/grpc"
THREADS = 16
"""Requests that are read, or wait for the disk, at once."""


def grpc_server(reception: Reception, tokens: Tokens, address: Address) -> tuple[Any, int]:
    """A server bound to `address`, not started yet, and the port that it has.

    Raises `LedgerError` where the address cannot be had.
    """

    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="grpc"),
        handlers=[_handler(signal, reception, tokens) for signal in SIGNALS],
        options=[
            ("grpc.max_receive_message_length", reception.limits.body),
            ("grpc.so_reuseport", 0),
        ],
    )
    try:
        port = server.add_insecure_port(str(address))
    except RuntimeError as error:
        raise LedgerError(
            f"the address {address} cannot be listened on; choose another with --grpc, "
            "or --grpc off"
        ) from error
    return server, port


def _handler(signal: Signal, reception: Reception, tokens: Tokens) -> Any:
    def export(body: bytes, context: Any) -> Any:
        metadata = dict(context.invocation_metadata())
        if not tokens.allow(metadata.get("authorization")):
            _abort(reception, context, grpc.StatusCode.UNAUTHENTICATED, "show a bearer token")
        return _export(signal, body, context, reception)

    method = grpc.unary_unary_rpc_method_handler(
        export,
        request_deserializer=None,
        response_serializer=signal.response.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(signal.service, {"Export": method})


def _export(signal: Signal, body: bytes, context: Any, reception: Reception) -> Any:
    try:
        taken, stored = reception.take(signal, body, PROTOBUF, DOOR)
        stored.result(STORE_TIMEOUT_S)
    except BadRequestError as error:
        _abort(reception, context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except (InboxFullError, BusyError, sqlite3.Error, TimeoutError) as error:
        _abort(reception, context, grpc.StatusCode.UNAVAILABLE, not_stored(error))
    reception.count(DOOR, "acknowledged", taken)
    return answer(signal, taken)


def _abort(reception: Reception, context: Any, code: Any, message: str) -> NoReturn:
    reception.count(DOOR, "busy" if code is grpc.StatusCode.UNAVAILABLE else "refused")
    context.abort(code, message)
    raise AssertionError("abort raises")
