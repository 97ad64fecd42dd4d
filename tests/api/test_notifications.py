"""Notification channels: their configuration, and what arrives at webhooks, Slack and by mail."""

import hashlib
import hmac
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness import complaint_paths, eventually, free_port, moment, new_id, refusal, unique
from smtp_sink import SmtpSink

CHANNELS = "/notification-channels"
MAIL_FROM = "ctrlplane@example.com"
WEBHOOK = {"name": "hook", "kind": "webhook", "config": {"url": "https://example.com/hook"}}


class Hook:
    """A web server that keeps what is posted to it and answers as it is told, in turn; then 200."""

    def __init__(self, port=0, answers=()):
        self.posts = []
        self.answers = list(answers)
        self._changed = threading.Condition()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, text = hook._take(self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self._listener = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._listener.daemon_threads = True
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}/hook"

    def _take(self, path, headers, body):
        with self._changed:
            self.posts.append((path, headers, body))
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else (200, "ok")

    def wait_for(self, fits=lambda headers, body: True, within=30.0):
        """Headers and bytes of the first post that fits."""
        def found():
            return next(((h, b) for _, h, b in self.posts if fits(h, b)), None)

        with self._changed:
            assert self._changed.wait_for(found, within), f"no such post among {len(self.posts)}"
            return found()

    def event(self, type):
        return self.wait_for(lambda headers, _: headers.get("X-Ctrlplane-Event") == type)

    def close(self):
        self._listener.shutdown()
        self._listener.server_close()


@pytest.fixture()
def hook():
    running = Hook()
    yield running
    running.close()


@pytest.fixture(scope="module")
def sink():
    running = SmtpSink()
    yield running
    running.close()


@pytest.fixture(scope="module")
def mail_admin(start_server, sink):
    """An administrator's client of a server that knows a mail server."""
    return start_server(["--smtp-url", sink.url, "--mail-from", MAIL_FROM]).client()


def make(ws, kind="webhook", config=None, **more):
    body = {"name": unique("channel"), "kind": kind, "config": config or {}, **more}
    return ws.post(CHANNELS, body, status=201).json()


def send_test(ws, channel):
    """The id of the delivery."""
    return ws.post(f"{CHANNELS}/{channel}/test", status=202).json()["id"]


def delivery(ws, channel, id):
    items = ws.get(f"{CHANNELS}/{channel}/deliveries", status=200).json()["items"]
    return next(item for item in items if item["id"] == id)


def delivery_once(ws, channel, id, fits):
    return eventually(lambda: (d := delivery(ws, channel, id)) and fits(d) and d, within=30, what="the delivery")


def ended(d):
    return d["status"] in ("delivered", "abandoned")


def tried(d):
    return d["status"] == "pending" and d["attempts"] >= 1


# ---- Channels ------------------------------------------------------------------------------------------


def test_a_channel_is_made_read_changed_and_deleted(ws):
    made = ws.post(CHANNELS, {**WEBHOOK, "secret": "s3cret"}, status=201).json()
    assert {name: made[name] for name in WEBHOOK} == WEBHOOK
    assert (made["enabled"], made["hasSecret"]) == (True, True)
    path = f"{CHANNELS}/{made['id']}"
    assert ws.get(path, status=200).json() == made
    assert ws.get(CHANNELS, status=200).json()["items"] == [made]
    assert "s3cret" not in ws.get(path).text + ws.get(CHANNELS).text

    body = {"name": "mail", "kind": "email", "config": {"to": ["a@example.com"]}, "enabled": False, "secret": ""}
    changed = ws.put(path, body, status=202).json()
    assert changed == {"id": made["id"], "name": "mail", "kind": "email", "config": {"to": ["a@example.com"]},
                       "hasSecret": False, "enabled": False, "createdAt": made["createdAt"]}
    assert ws.delete(path, status=202).json()["id"] == made["id"]
    refusal(ws.get(path), 404)
    refusal(ws.delete(path), 404)
    assert ws.get(CHANNELS).json()["total"] == 0


def test_channels_are_listed_by_name_in_pages(ws):
    for name in ("b", "c", "a"):
        ws.post(CHANNELS, {**WEBHOOK, "name": name}, status=201)
    page = ws.get(f"{CHANNELS}?limit=2&offset=1", status=200).json()
    assert ([c["name"] for c in page["items"]], page["total"]) == (["b", "c"], 3)


def test_a_channel_can_be_made_under_an_id_of_ones_own(ws):
    id = new_id()
    assert ws.put(f"{CHANNELS}/{id}", WEBHOOK, status=202).json()["id"] == id
    assert ws.get(f"{CHANNELS}/{id}", status=200).json()["name"] == "hook"


def test_a_secret_stays_until_it_is_replaced_or_taken_away(ws):
    path = f"{CHANNELS}/{make(ws, config=WEBHOOK['config'], secret='s')['id']}"
    assert ws.put(path, WEBHOOK, status=202).json()["hasSecret"] is True
    assert ws.put(path, {**WEBHOOK, "secret": ""}, status=202).json()["hasSecret"] is False


def test_two_channels_of_one_name_are_409(ws):
    ws.post(CHANNELS, WEBHOOK, status=201)
    refusal(ws.post(CHANNELS, WEBHOOK), 409, "conflict")
    assert ws.get(CHANNELS).json()["total"] == 1


@pytest.mark.parametrize("body, path", [
    ({"name": ""}, "name"), ({"name": "x" * 256}, "name"), ({"name": None}, "name"), ({"name": 1}, "name"),
    ({"kind": "pager"}, "kind"), ({"kind": None}, "kind"), ({"kind": 1}, "kind"),
    ({"config": "x"}, "config"), ({"config": []}, "config"), ({"enabled": 1}, "enabled"),
    ({"secret": 1}, "secret"), ({"secret": "x" * 256}, "secret"),
    ({"kind": "slack", "secret": "s"}, "secret"),
    ({"kind": "email", "config": {}, "secret": "s"}, "secret"),
])
def test_bad_members_are_400_by_their_name(ws, body, path):
    assert complaint_paths(ws.post(CHANNELS, {**WEBHOOK, **body})) == [path]
    assert ws.get(CHANNELS).json()["total"] == 0


@pytest.mark.parametrize("kind", ["webhook", "slack"])
@pytest.mark.parametrize("config", [
    None, {}, {"url": None}, {"url": 1}, {"url": ""}, {"url": "example.com"}, {"url": "ftp://example.com"},
    {"url": "file:///etc/passwd"}, {"url": "https://"}, {"url": "https:///x"}, {"url": "http://:80/"},
    {"url": "http://user@/x"}, {"url": "http://a b/"}, {"url": "http://a/\r\nHost: b"},
    {"url": "http://a/" + "x" * 2000}, {"url": ["http://a"]},
])
def test_a_bad_url_is_400(ws, kind, config):
    answer = ws.post(CHANNELS, {"name": "n", "kind": kind, "config": config})
    assert complaint_paths(answer) == ["config.url"]


@pytest.mark.parametrize("to, path", [
    ([], "config.to"), ("a@example.com", "config.to"), ({}, "config.to"), (["a@example.com"] * 101, "config.to"),
    (["a@example.com", "b"], "config.to[1]"), ([1], "config.to[0]"), ([""], "config.to[0]"),
    (["a@example.com\r\nBcc: b@example.com"], "config.to[0]"), (["a\u0000@b"], "config.to[0]"),
    (["Ann <a@example.com>"], "config.to[0]"), (["a@example.com,b@example.com"], "config.to[0]"),
])
def test_bad_addresses_are_400(ws, to, path):
    answer = ws.post(CHANNELS, {"name": "n", "kind": "email", "config": {"to": to}})
    assert complaint_paths(answer) == [path]


def test_another_workspaces_channel_is_404(admin, ws):
    channel = make(ws, config=WEBHOOK["config"])["id"]
    send_test(ws, channel)
    other = admin.new_workspace()
    refusal(other.get(f"{CHANNELS}/{channel}"), 404)
    refusal(other.delete(f"{CHANNELS}/{channel}"), 404)
    refusal(other.post(f"{CHANNELS}/{channel}/test"), 404)
    refusal(other.get(f"{CHANNELS}/{channel}/deliveries"), 404)
    assert other.get(CHANNELS).json()["total"] == 0
    assert ws.get(f"{CHANNELS}/{channel}", status=200)


def test_only_administrators_change_channels_and_see_where_they_lead(ws):
    channel = make(ws, "slack", {"url": "https://hooks.example.com/services/T0/secret"})["id"]
    for role in ("viewer", "deployer", "operator"):
        reader = ws.as_role(role)
        shown = reader.get(f"{CHANNELS}/{channel}", status=200)
        assert "config" not in shown.json() and "secret" not in shown.text.replace("hasSecret", "")
        assert "services" not in reader.get(CHANNELS, status=200).text
        assert "notification.write" in refusal(reader.post(CHANNELS, WEBHOOK), 403)["message"]
        refusal(reader.put(f"{CHANNELS}/{channel}", WEBHOOK), 403)
        refusal(reader.delete(f"{CHANNELS}/{channel}"), 403)
        refusal(reader.post(f"{CHANNELS}/{channel}/test"), 403)


# ---- Webhooks ------------------------------------------------------------------------------------------


def test_a_webhook_gets_a_signed_message(ws, hook):
    channel = make(ws, config={"url": hook.url}, secret="s3cret")["id"]
    id = send_test(ws, channel)
    headers, body = hook.wait_for()
    assert (headers["X-Ctrlplane-Delivery"], headers["X-Ctrlplane-Event"]) == (id, "test")
    stamp = headers["X-Ctrlplane-Timestamp"]
    code = hmac.new(b"s3cret", stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Ctrlplane-Signature"] == f"v1={code}"
    message = json.loads(body)
    assert (message["id"], message["type"], message["workspaceId"]) == (id, "test", ws.id)
    assert abs(moment(message["at"]).timestamp() - int(stamp)) < 600
    done = delivery_once(ws, channel, id, ended)
    assert (done["status"], done["attempts"], done["type"], done["channelId"]) == ("delivered", 1, "test", channel)
    assert done["endedAt"] and "nextAttemptAt" not in done and "lastError" not in done


def test_a_webhook_without_a_secret_gets_no_signature(ws, hook):
    send_test(ws, make(ws, config={"url": hook.url})["id"])
    headers, _ = hook.wait_for()
    assert "X-Ctrlplane-Signature" not in headers


def test_a_refusal_is_final(ws, hook):
    hook.answers = [(403, "what the receiver has to hide")]
    channel = make(ws, config={"url": hook.url})["id"]
    done = delivery_once(ws, channel, send_test(ws, channel), ended)
    assert (done["status"], done["attempts"], done["lastError"]) == ("abandoned", 1, "answered 403")


def test_a_message_is_sent_again_under_the_same_id_until_it_is_taken(ws, hook):
    hook.answers = [(503, ""), (429, "")]
    channel = make(ws, config={"url": hook.url})["id"]
    id = send_test(ws, channel)
    done = delivery_once(ws, channel, id, ended)
    assert (done["status"], done["attempts"]) == ("delivered", 3)
    assert [headers["X-Ctrlplane-Delivery"] for _, headers, _ in hook.posts] == [id] * 3


def test_a_dead_channel_keeps_its_message_and_delays_nothing(ws, hook):
    port = free_port()
    dead = make(ws, config={"url": f"http://127.0.0.1:{port}/x"})["id"]
    alive = make(ws, config={"url": hook.url})["id"]
    waiting = send_test(ws, dead)
    failed = delivery_once(ws, dead, waiting, tried)
    assert "cannot connect" in failed["lastError"] and failed["nextAttemptAt"]
    assert "/x" not in failed["lastError"].removeprefix("http://")
    other = send_test(ws, alive)
    assert delivery_once(ws, alive, other, ended)["status"] == "delivered"
    ws.make_system()

    late = Hook(port)
    try:
        headers, _ = late.wait_for()
        assert headers["X-Ctrlplane-Delivery"] == waiting
        assert delivery_once(ws, dead, waiting, ended)["status"] == "delivered"
    finally:
        late.close()


def test_a_receiver_that_never_answers_delays_nothing(ws, hook):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = make(ws, config={"url": f"http://127.0.0.1:{silent.getsockname()[1]}/"})["id"]
        waiting = send_test(ws, slow)
        accepted, _ = silent.accept()
        with accepted:
            assert delivery(ws, slow, waiting)["status"] == "sending"
            alive = make(ws, config={"url": hook.url})["id"]
            other = send_test(ws, alive)
            assert delivery_once(ws, alive, other, ended)["status"] == "delivered"


def test_messages_to_a_deleted_channel_are_given_up(ws):
    channel = make(ws, config={"url": f"http://127.0.0.1:{free_port()}/"})["id"]
    id = send_test(ws, channel)
    delivery_once(ws, channel, id, tried)
    ws.delete(f"{CHANNELS}/{channel}", status=202)
    done = delivery_once(ws, channel, id, ended)
    assert (done["status"], done["lastError"]) == ("abandoned", "the channel was deleted")


def test_deliveries_are_listed_newest_first_in_pages(ws, hook):
    channel = make(ws, config={"url": hook.url})["id"]
    ids = [send_test(ws, channel) for _ in range(3)]
    page = ws.get(f"{CHANNELS}/{channel}/deliveries?limit=2&offset=1", status=200).json()
    assert ([d["id"] for d in page["items"]], page["total"]) == ([ids[1], ids[0]], 3)
    empty = make(ws, config={"url": hook.url})["id"]
    assert ws.get(f"{CHANNELS}/{empty}/deliveries", status=200).json()["items"] == []
    refusal(ws.get(f"{CHANNELS}/{new_id()}/deliveries"), 404)


def test_a_test_asked_for_twice_with_one_key_is_sent_once(ws, hook):
    channel = make(ws, config={"url": hook.url})["id"]
    key = {"Idempotency-Key": unique("key")}
    first = ws.post(f"{CHANNELS}/{channel}/test", headers=key, status=202).json()
    assert ws.post(f"{CHANNELS}/{channel}/test", headers=key, status=202).json() == first
    assert ws.get(f"{CHANNELS}/{channel}/deliveries").json()["total"] == 1


# ---- Freezes -------------------------------------------------------------------------------------------


def test_channels_hear_of_a_freeze_and_of_its_end(ws, hook):
    channel = make(ws, config={"url": hook.url})["id"]
    off = make(ws, config={"url": hook.url}, enabled=False)["id"]
    freeze = ws.post("/freezes", {"scope": "workspace", "reason": "Elevated error rates"}, status=201).json()["id"]
    _, body = hook.event("freeze.activated")
    news = json.loads(body)
    assert (news["freeze"]["id"], news["freeze"]["reason"]) == (freeze, "Elevated error rates")
    assert news["actor"] == "user:admin@localhost"
    ws.post(f"/freezes/{freeze}/thaw", {"reason": "Root cause fixed"}, status=200)
    _, body = hook.event("freeze.thawed")
    news = json.loads(body)
    assert (news["note"], news["freeze"]["status"]) == ("Root cause fixed", "ended")
    types = [d["type"] for d in ws.get(f"{CHANNELS}/{channel}/deliveries").json()["items"]]
    assert types == ["freeze.thawed", "freeze.activated"]
    assert ws.get(f"{CHANNELS}/{off}/deliveries").json()["total"] == 0


def test_a_dead_channel_delays_no_freeze(world):
    make(world.ws, config={"url": f"http://127.0.0.1:{free_port()}/"})
    world.publish()
    world.wait_for_jobs(3)
    world.ws.post("/freezes", {"scope": "workspace", "reason": "r"}, status=201)
    assert world.claim() is None


# ---- Slack ---------------------------------------------------------------------------------------------


def test_slack_gets_blocks(ws, hook):
    make(ws, "slack", {"url": hook.url})
    ws.post("/freezes", {"scope": "workspace", "reason": "<!channel> & more",
                         "incidentUrl": "https://incidents.example.com/4521"}, status=201)
    headers, body = hook.wait_for()
    assert headers["Content-Type"] == "application/json"
    message = json.loads(body)
    blocks = message["blocks"]
    assert [b["type"] for b in blocks] == ["header", "section", "section", "context"]
    assert blocks[0]["text"] == {"type": "plain_text", "text": "Deployments frozen: <!channel> & more"}
    fields = dict(field["text"].split("\n", 1) for field in blocks[1]["fields"])
    assert fields == {"*Scope*": "workspace", "*Reason*": "&lt;!channel&gt; &amp; more", "*By*": "admin@localhost"}
    assert blocks[2]["text"]["text"] == "<https://incidents.example.com/4521|Incident>"
    assert ws.id in blocks[3]["elements"][0]["text"]
    assert "<" not in message["text"]


def test_what_slack_dislikes_is_told(ws, hook):
    hook.answers = [(404, "no_service")]
    channel = make(ws, "slack", {"url": hook.url})["id"]
    done = delivery_once(ws, channel, send_test(ws, channel), ended)
    assert (done["status"], done["lastError"]) == ("abandoned", "answered 404: no_service")


# ---- Mail ----------------------------------------------------------------------------------------------


def test_mail_without_a_mail_server_says_so(ws):
    channel = make(ws, "email", {"to": ["a@example.com"]})["id"]
    done = delivery_once(ws, channel, send_test(ws, channel), ended)
    assert done["status"] == "abandoned" and "--smtp-url" in done["lastError"]


def test_mail_goes_to_the_addresses_of_the_channel(mail_admin, sink):
    ws = mail_admin.new_workspace()
    channel = make(ws, "email", {"to": ["a@example.com", "refused@example.com", "b@example.com"]})["id"]
    id = send_test(ws, channel)
    assert delivery_once(ws, channel, id, ended)["status"] == "delivered"
    mail = sink.wait_for(lambda m: id in m.message["Message-ID"])
    assert (mail.sender, mail.recipients) == (MAIL_FROM, ["a@example.com", "b@example.com"])
    message = mail.message
    assert message["Subject"] == "[ctrlplane] Test message"
    assert (message["From"], message["Auto-Submitted"]) == (f"ctrlplane <{MAIL_FROM}>", "auto-generated")
    assert message["Message-ID"] == f"<{id}@example.com>"
    assert message["Date"].datetime and ws.id in message.get_content()


def test_mail_for_nobody_but_the_refused_is_given_up(mail_admin):
    ws = mail_admin.new_workspace()
    channel = make(ws, "email", {"to": ["refused@example.com"]})["id"]
    done = delivery_once(ws, channel, send_test(ws, channel), ended)
    assert done["status"] == "abandoned" and "550" in done["lastError"]


def test_mail_without_addresses_goes_to_the_members_concerned(mail_admin, sink):
    ws = mail_admin.new_workspace()
    address = {}
    for role in ("viewer", "deployer", "operator", "admin"):
        address[role] = f"{unique(role)}@example.com"
        user = mail_admin.post("/users", {"email": address[role], "name": role}, status=201).json()["id"]
        ws.put(f"/members/{user}", {"role": role})
    channel = make(ws, "email")["id"]
    id = send_test(ws, channel)
    mail = sink.wait_for(lambda m: id in m.message["Message-ID"])
    assert address["admin"] in mail.recipients
    assert not {address[role] for role in ("viewer", "deployer", "operator")} & set(mail.recipients)

    reason = "Größere Störung\r\nBcc: eve@example.com"
    ws.post("/freezes", {"scope": "workspace", "reason": reason}, status=201)
    mail = sink.wait_for(lambda m: "Störung" in m.message["Subject"] and address["admin"] in m.recipients)
    assert {address[role] for role in ("deployer", "operator", "admin")} <= set(mail.recipients)
    assert address["viewer"] not in mail.recipients and "eve@example.com" not in mail.recipients
    message = mail.message
    assert message["To"] == "undisclosed-recipients:;" and message["Bcc"] is None
    assert "Größere Störung" in message.get_content()


@pytest.mark.parametrize("arguments", [
    ["--smtp-url", "smtp://127.0.0.1:25"], ["--mail-from", "a@example.com"],
    ["--smtp-url", "http://127.0.0.1", "--mail-from", "a@example.com"],
    ["--smtp-url", "smtp://127.0.0.1:25", "--mail-from", "nobody"],
])
def test_a_server_with_half_a_mail_setting_does_not_start(start_server, arguments):
    with pytest.raises(AssertionError, match="smtp-url|mail-from"):
        start_server(arguments)
