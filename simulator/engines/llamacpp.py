"""llama.cpp, the embedded engine: one thread, a small model, a server in a process of its own.

Owns the flags of this engine and the form of its requests and frames. Refuses to run with flags
that it has not read back from the server or seen at work.
"""

import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from simulator.engines.engine import Frame, Served
from simulator.engines.flags import Choice, FlagSpec, Whole, resolve_flags
from simulator.engines.process import EngineProcess
from simulator.errors import EngineError
from simulator.models import (
    INSTALL,
    WITHOUT_REGISTRY,
    ModelFile,
    embedded_model,
    source_file,
)
from simulator.prompts import PromptBook

PACKAGE = "xllamacpp"
SERVER_MODULE = "simulator.engines.llamacpp_server"
ANSWER_DEADLINE_S = 120.0

FLAGS: Mapping[str, FlagSpec] = {
    "prefix_cache": FlagSpec(default="on", kind=Choice(("on", "off"))),
    "slots": FlagSpec(default="1", kind=Whole(1, 64)),
    "context_tokens": FlagSpec(default="2048", kind=Whole(256, 8192, step=256)),
    "cache_ram_mib": FlagSpec(default="256", kind=Whole(0, 65_536)),
}
"""`slots` requests are served at once, each with room for `context_tokens`. `cache_ram_mib` keeps
prompts beyond the slots, where `prefix_cache` is on."""

PROBE_TOKENS = 64
WARM_UP_PROMPT_TOKENS = 64
WARM_UP_OUTPUT_TOKENS = 8
WARM_UP_ROUNDS = 3


class LlamaCpp:
    """The adapter; `port` 0 is any free port.

    Making it raises `EngineError` or `ModelFileError` where the engine's or the model's package is
    absent, so that nothing is read or started in vain.
    """

    name = "llama.cpp"
    cannot: tuple[str, ...] = (
        "reset its prefix cache while it runs: the process is started again",
        "report queue time: it is the client's wait less the engine's own prompt time",
        "report the llama.cpp commit: the wheel's version stands for it",
    )

    def __init__(self, port: int = 0) -> None:
        if importlib.util.find_spec(PACKAGE) is None:
            raise EngineError(
                f"the package {PACKAGE} is not installed; run `{INSTALL}`; {WITHOUT_REGISTRY}"
            )
        source_file()
        self.version = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
        self._port = port

    def resolve(self, flags: Mapping[str, str]) -> Mapping[str, str]:
        """All flags with their defaults; raises `WrongFlagError` for an unknown or bad one."""
        return resolve_flags(self.name, FLAGS, flags)

    def context_tokens(self, flags: Mapping[str, str]) -> int:
        """The room that `flags` ask for one request, prompt and output together, in tokens."""
        return int(self.resolve(flags)["context_tokens"])

    def start(self, flags: Mapping[str, str], log_path: Path) -> "RunningLlamaCpp":
        """A running server whose flags have been read back; the log is kept at `log_path`."""
        model = embedded_model()
        resolved = self.resolve(flags)
        has_cache = resolved["prefix_cache"] == "on"
        settings = {
            "model": model.name,
            "model_path": str(model.path),
            "port": self._port,
            "slots": int(resolved["slots"]),
            "context_tokens": int(resolved["context_tokens"]),
            "prefix_cache": has_cache,
            "cache_ram_mib": int(resolved["cache_ram_mib"]) if has_cache else 0,
        }
        return RunningLlamaCpp.start(settings, model, log_path)


class RunningLlamaCpp:
    """A server that answers; see `RunningEngine` for what each method says."""

    completion_path = "/completion"

    def __init__(
        self,
        process: EngineProcess,
        settings: Mapping[str, Any],
        model: ModelFile,
        log_path: Path,
    ) -> None:
        self._process = process
        self._settings = settings
        self._model = model
        self._log_path = log_path
        self.properties: Mapping[str, Any] = {}

    @classmethod
    def start(cls, settings: Mapping[str, Any], model: ModelFile, log_path: Path) -> Self:
        """Start the process with `settings` and read them back."""
        process = EngineProcess.start(SERVER_MODULE, settings, log_path)
        running = cls(process, settings, model, log_path)
        try:
            running._verify()
        except BaseException:
            running.stop()
            raise
        return running

    @property
    def base_url(self) -> str:
        return self._process.address

    @property
    def process_id(self) -> int:
        return self._process.process_id

    @property
    def model(self) -> str:
        return self._model.name

    @property
    def slots(self) -> int:
        return int(self._settings["slots"])

    @property
    def context_tokens(self) -> int:
        return int(self._settings["context_tokens"])

    @property
    def prompt_ids(self) -> NDArray[np.uint32]:
        return self._model.prompt_ids

    def request_body(self, prompt: Sequence[int], output_tokens: int) -> bytes:
        """A streaming request for exactly `output_tokens` tokens after `prompt`, greedy."""
        return orjson.dumps(
            {
                "prompt": list(prompt),
                "n_predict": output_tokens,
                "ignore_eos": True,
                "temperature": 0,
                "stream": True,
                "return_tokens": True,
                "cache_prompt": self._settings["prefix_cache"],
            }
        )

    def read_frame(self, data: bytes) -> Frame:
        """One `data:` line of the stream, understood."""
        return read_frame(data)

    def warm_up(self) -> None:
        """A few short requests, each of its own text, so that buffers are allocated."""
        for number in range(WARM_UP_ROUNDS):
            prompt = self._other_text(f"warm-up {number}", WARM_UP_PROMPT_TOKENS)
            self._ask(prompt, WARM_UP_OUTPUT_TOKENS)

    def reset_cache(self) -> None:
        """Start the process again: nothing of any earlier prompt is left."""
        self._process.stop()
        self._process = EngineProcess.start(SERVER_MODULE, self._settings, self._log_path)
        self._verify()

    def metrics(self) -> str:
        """The server's counters as Prometheus text."""
        return self._process.get("/metrics").text

    def cpu_s(self) -> float | None:
        return self._process.cpu_s()

    def raise_if_dead(self, grace_s: float = 0.0) -> None:
        self._process.raise_if_dead(grace_s)

    def log_tail(self) -> str:
        return self._process.tail()

    def stop(self) -> None:
        self._process.stop()

    def _verify(self) -> None:
        """Read the flags back; the prefix cache is judged by what it does to a repeated prompt."""
        said = self._process.get("/props").json()
        applied = {
            "model": said["model_alias"],
            "model_path": said["model_path"],
            "slots": said["total_slots"],
            "context_tokens": said["default_generation_settings"]["n_ctx"],
            "prefix_cache": self._reuses_prefix(),
        }
        wrong = {
            name: (self._settings[name], value)
            for name, value in applied.items()
            if self._settings[name] != value
        }
        if wrong:
            told = "; ".join(
                f"{name}: asked {asked}, runs with {has}" for name, (asked, has) in wrong.items()
            )
            raise EngineError(f"the engine does not run with the flags it was given: {told}")
        self.properties = {
            **applied,
            "model_sha256": self._model.sha256,
            "model_ftype": said["model_ftype"],
            "cache_ram_mib": self._settings["cache_ram_mib"],
        }

    def _reuses_prefix(self) -> bool:
        prompt = self._other_text("probe", PROBE_TOKENS)
        self._ask(prompt, 1)
        return self._ask(prompt, 1).cached_tokens > 0

    def _other_text(self, name: str, tokens: int) -> list[int]:
        return PromptBook(self.prompt_ids, key=f"engine {name}").unshared(name, tokens)

    def _ask(self, prompt: Sequence[int], output_tokens: int) -> Served:
        body = self.request_body(prompt, output_tokens)
        answer = self._process.post(self.completion_path, body, timeout_s=ANSWER_DEADLINE_S)
        frames = [
            self.read_frame(line.removeprefix("data: ").encode())
            for line in answer.text.splitlines()
            if line.startswith("data: ")
        ]
        served = frames[-1].served if frames else None
        if served is None:
            raise EngineError(f"the engine's answer has no end: {answer.text[-400:]!r}")
        return served


def read_frame(data: bytes) -> Frame:
    """One frame of a `/completion` stream; raises `EngineError` for an error or no frame at all."""
    try:
        frame = orjson.loads(data)
        if "error" in frame:
            raise EngineError(f"the engine answered with an error: {frame['error']}")
        tokens = frame.get("tokens", ())
        return Frame(
            has_output=bool(tokens or frame.get("content")),
            output_tokens=len(tokens),
            served=_served(frame) if frame.get("stop") else None,
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"a frame cannot be understood ({error!r}): {data[:200]!r}") from error


def _served(frame: Mapping[str, Any]) -> Served:
    timings = frame["timings"]
    return Served(
        cached_tokens=timings["cache_n"],
        computed_tokens=timings["prompt_n"],
        output_tokens=timings["predicted_n"],
        prompt_s=timings["prompt_ms"] / 1e3,
        decode_s=timings["predicted_ms"] / 1e3,
        slot=frame.get("id_slot"),
        stop_reason=frame["stop_type"],
    )
