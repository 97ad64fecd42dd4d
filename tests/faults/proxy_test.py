"""The proxy does what it is told, and nothing else."""

import socket
import threading
import unittest

from proxy import Proxy, ProxyThread


class Echo:
    """A server that sends back what it gets, after its name."""

    def __init__(self, name=b""):
        self.name = name
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            try:
                while data := client.recv(65536):
                    client.sendall(self.name + data)
            except OSError:
                pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.thread = ProxyThread()
        self.echo = Echo()
        self.proxy = Proxy(self.thread, [self.echo.port])
        self.addCleanup(self.thread.close)
        self.addCleanup(self.proxy.close)
        self.addCleanup(self.echo.close)

    def client(self, proxy=None):
        client = socket.create_connection(("127.0.0.1", (proxy or self.proxy).port), timeout=5)
        self.addCleanup(client.close)
        return client

    def assert_echoes(self, client, text=b"hello"):
        client.sendall(text)
        self.assertEqual(client.recv(65536), text)

    def test_data_goes_through_both_ways(self):
        client = self.client()
        self.assert_echoes(client)
        self.assert_echoes(client, b"again")

    def test_an_end_goes_through(self):
        client = self.client()
        client.sendall(b"last")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(client.recv(100), b"last")
        self.assertEqual(client.recv(100), b"")

    def test_a_cut_resets_what_is_open_and_lets_new_ones_in(self):
        client = self.client()
        self.assert_echoes(client)
        self.assertEqual(self.proxy.cut(), 1)
        with self.assertRaises(ConnectionResetError):
            client.recv(100)
        self.assert_echoes(self.client())

    def test_held_data_comes_after_the_resume_and_not_before(self):
        client = self.client()
        self.assert_echoes(client)
        self.proxy.hold()
        client.sendall(b"late")
        client.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            client.recv(100)
        self.proxy.resume()
        client.settimeout(5)
        self.assertEqual(client.recv(100), b"late")

    def test_what_is_held_is_lost_with_a_cut(self):
        client = self.client()
        self.assert_echoes(client)
        self.proxy.hold()
        client.sendall(b"never")
        self.proxy.cut()
        with self.assertRaises(ConnectionResetError):
            client.recv(100)
        self.proxy.resume()
        self.assert_echoes(self.client())

    def test_while_it_refuses_nobody_gets_through(self):
        client = self.client()
        self.assert_echoes(client)
        self.proxy.refuse()
        with self.assertRaises(OSError):
            client.recv(100)
        with self.assertRaises(OSError):
            self.assert_echoes(self.client())
        self.proxy.resume()
        self.assert_echoes(self.client())

    def test_a_dead_upstream_is_passed_over(self):
        dead, alive = Echo(), Echo(b"alive ")
        dead.close()
        self.addCleanup(alive.close)
        proxy = Proxy(self.thread, [dead.port, alive.port])
        self.addCleanup(proxy.close)
        for _ in range(10):
            client = self.client(proxy)
            client.sendall(b"x")
            self.assertEqual(client.recv(100), b"alive x")


if __name__ == "__main__":
    unittest.main()
