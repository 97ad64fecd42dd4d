"""A mail server for tests: takes mail and keeps it."""

import email
import email.policy
import socketserver
import threading
from dataclasses import dataclass


@dataclass
class Mail:
    sender: str
    recipients: list
    raw: bytes

    @property
    def message(self):
        return email.message_from_bytes(self.raw, policy=email.policy.default)


class SmtpSink:
    """Listens on a free port of 127.0.0.1. A recipient whose address begins with "refused" is refused."""

    def __init__(self):
        self.mails = []
        self._changed = threading.Condition()
        sink = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self):
                sink._talk(self)

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._listener = Listener(("127.0.0.1", 0), Session)
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"smtp://127.0.0.1:{self._listener.server_address[1]}"

    def close(self):
        self._listener.shutdown()
        self._listener.server_close()

    def wait_for(self, fits, within=30.0):
        """The first mail that fits."""
        def found():
            return next((mail for mail in self.mails if fits(mail)), None)

        with self._changed:
            assert self._changed.wait_for(found, within), f"no such mail among {len(self.mails)}"
            return found()

    # ---- One connection --------------------------------------------------------------------------------

    def _talk(self, session):
        def say(text):
            session.wfile.write(text.encode() + b"\r\n")

        sender, recipients = None, []
        say("220 sink")
        while line := session.rfile.readline():
            command = line.decode("latin-1").rstrip("\r\n")
            verb = command.upper()
            if verb.startswith(("EHLO ", "HELO ")):
                say("250-sink\r\n250 SIZE 1000000")
            elif verb.startswith("MAIL FROM:"):
                sender, recipients = self._address(command), []
                say("250 fine")
            elif verb.startswith("RCPT TO:"):
                address = self._address(command)
                if address.startswith("refused"):
                    say("550 no such user")
                else:
                    recipients.append(address)
                    say("250 fine")
            elif verb == "DATA":
                if not sender or not recipients:
                    say("503 nobody")
                    continue
                say("354 go ahead")
                self._keep(Mail(sender, recipients, self._text(session)))
                say("250 taken")
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 fine" if verb in ("RSET", "NOOP") else "500 unknown")

    @staticmethod
    def _address(command):
        return command.split("<", 1)[1].split(">", 1)[0]

    @staticmethod
    def _text(session):
        lines = []
        while (line := session.rfile.readline()) not in (b".\r\n", b""):
            assert line.endswith(b"\r\n"), line
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _keep(self, mail):
        with self._changed:
            self.mails.append(mail)
            self._changed.notify_all()
