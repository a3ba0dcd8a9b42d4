"""A server with declared latencies, run as a script: prints its port, ends with its input.

A request says what it wants: `{"status": 200, "busy_s": 0, "frames": [[at_s, frame], ...],
"hang": false}`. Frames are sent at `at_s` after service begins. With `busy_s` the
request holds the only worker that long, so that others queue.
"""

import asyncio
import json
import os
import sys


class Mock:
    def __init__(self) -> None:
        self._worker = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            wanted = await self._wanted(reader)
            if wanted.get("busy_s"):
                async with self._worker:
                    await self._answer(writer, wanted)
            else:
                await self._answer(writer, wanted)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _wanted(self, reader: asyncio.StreamReader) -> dict:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ]
        if not lengths:
            return {"status": 404}
        (length,) = lengths
        return json.loads(await reader.readexactly(length))

    async def _answer(self, writer: asyncio.StreamWriter, wanted: dict) -> None:
        began = asyncio.get_running_loop().time()
        status = wanted.get("status", 200)
        head = (
            "HTTP/1.1",
            str(status),
            "X\r\ncontent-type: text/event-stream\r\nconnection: close",
        )
        writer.write(" ".join(head).encode() + b"\r\n\r\n")
        for at_s, frame in wanted.get("frames", ()):
            await asyncio.sleep(began + at_s - asyncio.get_running_loop().time())
            writer.write(b"data: " + json.dumps(frame).encode() + b"\n\n")
            await writer.drain()
        if wanted.get("hang"):
            await asyncio.sleep(3600)
        left_s = began + wanted.get("busy_s", 0) - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, left_s))


async def main() -> None:
    server = await asyncio.start_server(Mock().serve, "127.0.0.1", 0, backlog=1000)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    await ended
    os._exit(0)  # requests that hang are left hanging


asyncio.run(main())
