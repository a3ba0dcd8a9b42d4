"""The llama.cpp server as a process of its own: `python -m simulator.engines.llamacpp_server`.

Owns the translation of our flags into llama.cpp parameters. It announces its address on the file
descriptor it is given, logs to stderr, and ends when its standard input closes, so that it never
outlives the process that started it, however that one ends. Refuses to run without a parent.
"""

import json
import os
import sys
from typing import Any

import xllamacpp

COMPUTE_THREADS = 1
"""With two threads on a shared machine of two cores a token takes up to a hundred times longer."""


def parameters(settings: dict[str, Any]) -> Any:
    """llama.cpp parameters for `settings`; the context is divided evenly among the slots."""
    wanted = xllamacpp.CommonParams()
    wanted.model.path = settings["model_path"]
    wanted.model_alias = {settings["model"]}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = settings["port"]
    wanted.n_parallel = settings["slots"]
    wanted.n_ctx = settings["context_tokens"] * settings["slots"]
    wanted.kv_unified = False
    wanted.cpuparams.n_threads = COMPUTE_THREADS
    wanted.cpuparams_batch.n_threads = COMPUTE_THREADS
    wanted.cache_prompt = settings["prefix_cache"]
    wanted.cache_ram_mib = settings["cache_ram_mib"]
    wanted.endpoint_metrics = wanted.endpoint_slots = wanted.endpoint_props = True
    wanted.ui = False
    return wanted


def main() -> None:
    """Serve until standard input closes."""
    settings = json.loads(sys.argv[1])
    server = xllamacpp.Server(parameters(settings))
    with os.fdopen(settings["announce_fd"], "w") as announcement:
        announcement.write(server.listening_address)
    sys.stdin.buffer.read()
    os._exit(0)  # the server has no stop method, and its threads would keep the process


if __name__ == "__main__":
    main()
