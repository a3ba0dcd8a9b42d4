"""OTLP over gRPC.

Owns the gRPC status codes: OK once the data is on the disk, INVALID_ARGUMENT for what will never
be taken, UNAVAILABLE for what may come again. The library itself refuses messages beyond the
limit, before and after decompression.
"""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ingest.errors import ConfigurationError
from ingest.receiver.address import Address
from ingest.receiver.inbox import InboxFullError
from ingest.receiver.intake import PROTOBUF, BadRequestError
from ingest.receiver.reception import STORE_TIMEOUT_S, BusyError, Reception, Tokens

DOOR = "otlp/grpc"
TRACES = "opentelemetry.proto.collector.trace.v1.TraceService"
THREADS = 16
"""Requests that are read, or wait for the disk, at once."""


def grpc_server(reception: Reception, tokens: Tokens, address: Address) -> tuple[Any, int]:
    """A server bound to `address`, not started yet, and the port that it has.

    Raises `ConfigurationError` where the address cannot be had.
    """

    def export(body: bytes, context: Any) -> ExportTraceServiceResponse:
        metadata = dict(context.invocation_metadata())
        if not tokens.allow(metadata.get("authorization")):
            _abort(reception, context, grpc.StatusCode.UNAUTHENTICATED, "show a bearer token")
        return _export(body, context, reception)

    handler = grpc.unary_unary_rpc_method_handler(
        export,
        request_deserializer=None,
        response_serializer=ExportTraceServiceResponse.SerializeToString,
    )
    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="grpc"),
        handlers=[grpc.method_handlers_generic_handler(TRACES, {"Export": handler})],
        options=[
            ("grpc.max_receive_message_length", reception.limits.unpacked),
            ("grpc.so_reuseport", 0),
        ],
    )
    try:
        port = server.add_insecure_port(str(address))
    except RuntimeError as error:
        raise ConfigurationError(
            f"the address {address} cannot be listened on; choose another with --grpc, "
            "or --grpc off"
        ) from error
    return server, port


def _export(body: bytes, context: Any, reception: Reception) -> ExportTraceServiceResponse:
    try:
        taken, stored = reception.take_traces(body, PROTOBUF, DOOR)
        stored.result(STORE_TIMEOUT_S)
    except BadRequestError as error:
        _abort(reception, context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except (InboxFullError, BusyError, sqlite3.Error, TimeoutError) as error:
        _abort(reception, context, grpc.StatusCode.UNAVAILABLE, f"it cannot be stored: {error}")
    reception.count(DOOR, "acknowledged", taken)
    answer = ExportTraceServiceResponse()
    if taken.rejected:
        answer.partial_success.rejected_spans = taken.rejected
        answer.partial_success.error_message = taken.message
    return answer


def _abort(reception: Reception, context: Any, code: Any, message: str) -> NoReturn:
    reception.count(DOOR, "busy" if code is grpc.StatusCode.UNAVAILABLE else "refused")
    context.abort(code, message)
    raise AssertionError("abort raises")
