"""A TCP proxy that can be told to misbehave: reset its connections, hold their data back, refuse new ones.

All proxies of a run share one thread with an event loop; a Proxy's methods may be called from any thread.
"""

import asyncio
import random
import socket
import struct
import threading

CHUNK = 64 << 10
NO_LINGER = struct.pack("ii", 1, 0)  # closing sends a reset, and what was not sent yet is dropped


class ProxyThread:
    """The thread that the proxies live on."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="proxies")
        self.thread.start()

    def run(self, coroutine, within=10):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(within)

    def call(self, function):
        async def once():
            return function()

        return self.run(once())

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


class Connection:
    """One client and the server it was led to."""

    def __init__(self):
        self.writers = []

    def add(self, writer):
        writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.writers.append(writer)

    def reset(self):
        for writer in self.writers:
            writer.transport.abort()


class Proxy:
    """Listens on a port of its own and leads each connection to one of `upstreams` (ports of 127.0.0.1).

    With several upstreams each connection takes them in a random order, and the first that accepts.
    """

    def __init__(self, thread, upstreams, name="proxy", chance=None):
        self.thread, self.upstreams, self.name = thread, list(upstreams), name
        self.chance = chance or random.Random()
        self.connections = set()
        self.refusing = False
        self.cuts = 0  # connections reset on purpose
        thread.run(self._start())

    async def _start(self):
        self.open_gate = asyncio.Event()
        self.open_gate.set()
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK)
        self.port = self.server.sockets[0].getsockname()[1]

    # ---- What it can be told ---------------------------------------------------------------------------

    def cut(self):
        """Resets every connection; new ones are served."""
        return self.thread.call(self._cut)

    def hold(self):
        """Holds all data back, both ways, also of new connections, until resume()."""
        self.thread.call(self.open_gate.clear)

    def refuse(self):
        """Resets every connection, and new ones at once, until resume()."""
        self.refusing = True
        return self.cut()

    def resume(self):
        self.refusing = False
        self.thread.call(self.open_gate.set)

    def close(self):
        self.refuse()
        self.thread.call(self.server.close)

    # ---- Inside ----------------------------------------------------------------------------------------

    def _cut(self):
        count = len(self.connections)
        for connection in list(self.connections):
            connection.reset()
        self.cuts += count
        return count

    async def _serve(self, reader, writer):
        connection = Connection()
        connection.add(writer)
        if self.refusing:
            return connection.reset()
        self.connections.add(connection)
        try:
            await self.open_gate.wait()
            upstream = await self._connect()
            if upstream is None or self.refusing:
                if upstream:
                    upstream[1].transport.abort()
                return
            connection.add(upstream[1])
            await asyncio.gather(self._pump(reader, upstream[1]), self._pump(upstream[0], writer))
        except OSError:
            pass  # one side has gone: so does the other
        finally:
            connection.reset()
            self.connections.discard(connection)

    async def _connect(self):
        for port in self.chance.sample(self.upstreams, len(self.upstreams)):
            try:
                return await asyncio.open_connection("127.0.0.1", port, limit=CHUNK)
            except OSError:
                continue
        return None

    async def _pump(self, reader, writer):
        while data := await reader.read(CHUNK):
            await self.open_gate.wait()
            writer.write(data)
            await writer.drain()
        await self.open_gate.wait()
        if writer.can_write_eof() and not writer.transport.is_closing():
            writer.write_eof()
