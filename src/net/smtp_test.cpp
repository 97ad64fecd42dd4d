#include "net/smtp.h"

#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "net/testing.h"
#include "net/testing_certificate.h"

namespace ctrlplane::net {
namespace {

using Outcome = std::expected<void, MailFailure>;

// One connection, line by line, plain or encrypted.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  ~Line() {
    if (ssl_) SSL_free(ssl_);
    ::close(fd_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool encrypt(SSL_CTX* context) {
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    return SSL_accept(ssl_) == 1;
  }
  // Without its CRLF; nothing at the end.
  std::optional<std::string> read() {
    size_t at;
    while ((at = buffer_.find("\r\n")) == std::string::npos) {
      char bytes[4096];
      ssize_t n = ssl_ ? SSL_read(ssl_, bytes, sizeof bytes) : ::recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return std::nullopt;
      buffer_.append(bytes, static_cast<size_t>(n));
    }
    std::string line = buffer_.substr(0, at);
    buffer_.erase(0, at + 2);
    return line;
  }
  void say(std::string text) {
    text += "\r\n";
    if (ssl_)
      SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    else
      (void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }

 private:
  int fd_;
  SSL* ssl_ = nullptr;
  std::string buffer_;
};

struct Got {
  std::vector<std::string> commands;
  std::string text;  // as it came, dots stuffed
  bool encrypted = false;
};

// A mail server that says what a test wants it to say.
class FakeSmtp {
 public:
  std::map<std::string, std::string> answers;  // to a command that begins so, instead of the usual one
  bool silent = false;                         // never greets
  bool hangs_up_after_data = false;
  const SelfSigned* certificate = nullptr;  // set: offers STARTTLS

  FakeSmtp() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
  }
  ~FakeSmtp() { stop(); }

  FakeSmtp& start() {
    thread_ = std::thread([this] { run(); });
    return *this;
  }
  void stop() {
    if (listener_ < 0) return;
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(std::exchange(listener_, -1));
  }
  std::string url(std::string_view user = "") const {
    return "smtp://" + std::string(user) + "127.0.0.1:" + std::to_string(port_);
  }
  // Of all connections, in order; ends the server.
  std::vector<Got> take() {
    stop();
    return std::move(got_);
  }

 private:
  void run() {
    for (int fd; (fd = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      Got got;
      Line line(fd);
      talk(line, got);
      got_.push_back(std::move(got));
    }
  }
  std::string answer_to(const std::string& command) {
    for (const auto& [start, answer] : answers)
      if (command.starts_with(start)) return answer;
    if (command.starts_with("EHLO")) return certificate ? "250-here\r\n250 STARTTLS" : "250 here";
    if (command == "DATA") return "354 go ahead";
    if (command == "STARTTLS") return "220 ready";
    return "250 fine";
  }
  void talk(Line& line, Got& got) {
    if (silent) {
      line.read();
      return;
    }
    line.say("220 fake");
    while (auto command = line.read()) {
      got.commands.push_back(*command);
      std::string answer = answer_to(*command);
      line.say(answer);
      if (*command == "QUIT") return;
      if (*command == "STARTTLS" && !encrypt(line, got)) return;
      if (*command == "DATA" && answer.starts_with("354") && !take_text(line, got)) return;
    }
  }
  bool encrypt(Line& line, Got& got) {
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX_use_certificate_chain_file(context.get(), certificate->files().certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), certificate->files().key_file.c_str(), SSL_FILETYPE_PEM);
    return got.encrypted = line.encrypt(context.get());
  }
  bool take_text(Line& line, Got& got) {
    while (auto text = line.read()) {
      if (*text == ".") {
        if (hangs_up_after_data) return false;
        line.say(answers.contains("(text)") ? answers["(text)"] : "250 taken");
        return true;
      }
      got.text += *text + "\n";
    }
    return false;
  }

  int listener_;
  uint16_t port_ = 0;
  std::vector<Got> got_;
  std::thread thread_;
};

Mail a_mail(std::vector<std::string> to = {"a@example.com"}) {
  return {"from@example.com", std::move(to), "Subject: hello\r\n\r\nline\r\n.\r\n..two\r\nend\r\n"};
}

Outcome send(const SmtpOptions& options, Mail mail) {
  SmtpClient client(options);
  std::promise<Outcome> told;
  auto future = told.get_future();
  client.send(std::move(mail), [&](Outcome outcome) { told.set_value(std::move(outcome)); });
  if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    ADD_FAILURE() << "nothing came";
    std::abort();
  }
  return future.get();
}

TEST(Smtp, delivers_a_mail_to_all_its_recipients) {
  FakeSmtp server;
  server.start();
  Outcome outcome = send({.url = server.url()}, a_mail({"a@example.com", "b@example.com"}));
  EXPECT_TRUE(outcome) << outcome.error().error.message;
  auto got = server.take();
  ASSERT_EQ(got.size(), 1u);
  ASSERT_GE(got[0].commands.size(), 5u);
  EXPECT_EQ(got[0].commands[1].substr(0, 28), "MAIL FROM:<from@example.com>");
  EXPECT_EQ(got[0].commands[2], "RCPT TO:<a@example.com>");
  EXPECT_EQ(got[0].commands[3], "RCPT TO:<b@example.com>");
  EXPECT_FALSE(got[0].encrypted);
}

TEST(Smtp, stuffs_dots_so_that_a_line_of_one_dot_does_not_end_the_mail) {
  FakeSmtp server;
  server.start();
  EXPECT_TRUE(send({.url = server.url()}, a_mail()));
  EXPECT_EQ(server.take().at(0).text, "Subject: hello\n\nline\n..\n...two\nend\n");
}

TEST(Smtp, a_recipient_that_is_refused_does_not_keep_the_mail_from_the_others) {
  FakeSmtp server;
  server.answers["RCPT TO:<gone"] = "550 no such user";
  server.start();
  EXPECT_TRUE(send({.url = server.url()}, a_mail({"gone@example.com", "b@example.com"})));
  EXPECT_FALSE(server.take().at(0).text.empty());
}

TEST(Smtp, a_mail_that_is_refused_for_good_is_said_to_be) {
  for (std::string what : {"MAIL FROM", "RCPT TO", "DATA", "(text)"}) {
    FakeSmtp server;
    server.answers[what] = "554 no";
    server.start();
    Outcome outcome = send({.url = server.url()}, a_mail());
    ASSERT_FALSE(outcome) << what;
    EXPECT_EQ(outcome.error().error.code, ErrorCode::kInvalid) << what;
    EXPECT_FALSE(outcome.error().maybe_sent) << what;
    EXPECT_NE(outcome.error().error.message.find("554"), std::string::npos) << outcome.error().error.message;
  }
}

TEST(Smtp, a_mail_that_is_put_off_was_not_sent) {
  FakeSmtp server;
  server.answers["RCPT TO"] = "451 later";
  server.start();
  Outcome outcome = send({.url = server.url()}, a_mail());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnavailable);
  EXPECT_FALSE(outcome.error().maybe_sent);
}

TEST(Smtp, a_mail_whose_receipt_did_not_come_may_have_been_sent) {
  FakeSmtp server;
  server.hangs_up_after_data = true;
  server.start();
  Outcome outcome = send({.url = server.url()}, a_mail());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnavailable);
  EXPECT_TRUE(outcome.error().maybe_sent);
}

TEST(Smtp, no_server_is_an_error_that_names_where_but_not_the_password) {
  FakeSmtp server;
  std::string url = server.url("me:secret@");
  server.stop();
  Outcome outcome = send({.url = url}, a_mail());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnavailable);
  EXPECT_FALSE(outcome.error().maybe_sent);
  EXPECT_EQ(outcome.error().error.message.find("secret"), std::string::npos) << outcome.error().error.message;
  EXPECT_EQ(outcome.error().error.message.find("smtp://127.0.0.1:"), 0u) << outcome.error().error.message;
}

TEST(Smtp, encrypts_where_it_is_offered) {
  SelfSigned certificate;
  FakeSmtp server;
  server.certificate = &certificate;
  server.start();
  Outcome outcome = send({.url = server.url()}, a_mail());
  EXPECT_TRUE(outcome) << outcome.error().error.message;
  EXPECT_TRUE(server.take().at(0).encrypted);
}

TEST(Smtp, a_password_is_not_sent_in_the_clear) {
  FakeSmtp server;
  server.answers["EHLO"] = "250-here\r\n250 AUTH PLAIN LOGIN";
  server.start();
  EXPECT_FALSE(send({.url = server.url("me:secret@")}, a_mail()));
  Got got = server.take().at(0);
  ASSERT_FALSE(got.commands.empty());
  for (const std::string& command : got.commands) EXPECT_FALSE(command.starts_with("AUTH")) << command;
}

TEST(Smtp, a_password_is_not_sent_to_a_stranger) {
  SelfSigned certificate;
  FakeSmtp server;
  server.certificate = &certificate;
  server.start();
  EXPECT_FALSE(send({.url = server.url("me:secret@")}, a_mail()));
}

TEST(Smtp, a_password_is_sent_under_a_good_certificate) {
  SelfSigned certificate;
  FakeSmtp server;
  server.certificate = &certificate;
  server.answers["EHLO"] = "250-here\r\n250-AUTH PLAIN\r\n250 STARTTLS";
  server.answers["AUTH"] = "334 ";
  server.answers["AG1lAHNAY3J0"] = "235 welcome";
  server.start();
  Outcome outcome =
      send({.url = server.url("me:s%40crt@"), .ca_file = certificate.files().certificate_file}, a_mail());
  EXPECT_TRUE(outcome) << outcome.error().error.message;
  Got got = server.take().at(0);
  std::string all;
  for (const std::string& command : got.commands) all += command + "\n";
  EXPECT_NE(all.find("AG1lAHNAY3J0"), std::string::npos) << all;
}

TEST(Smtp, closing_ends_what_is_under_way) {
  FakeSmtp server;
  server.silent = true;
  server.start();
  std::atomic<int> told = 0;
  {
    SmtpClient client({.url = server.url(), .max_connections = 1});
    for (int i = 0; i < 3; ++i)
      client.send(a_mail(), [&](Outcome outcome) {
        EXPECT_FALSE(outcome);
        ++told;
      });
  }
  EXPECT_EQ(told, 3);
}

TEST(Smtp, refuses_what_is_too_much) {
  FakeSmtp server;
  server.silent = true;
  server.start();
  SmtpClient client({.url = server.url(), .max_mails = 1});
  client.send(a_mail(), [](Outcome) {});
  std::optional<Outcome> second;
  client.send(a_mail(), [&](Outcome outcome) { second = std::move(outcome); });
  ASSERT_TRUE(second && !*second);
  EXPECT_EQ(second->error().error.code, ErrorCode::kBusy);
}

TEST(Smtp, refuses_addresses_that_would_be_commands) {
  for (std::string bad : {"a@b\r\nRCPT TO:<c@d>", "a@b>", "<a@b", "a b@c", "", "@", "a@", "@b", "a@b@c", "a",
                          "a@b\n", "\"a\"@b", "a,b@c", "ä@b"}) {
    EXPECT_FALSE(is_mail_address(bad)) << bad;
    std::optional<Outcome> told;
    SmtpClient client({.url = "smtp://127.0.0.1:1"});
    client.send(a_mail({bad}), [&](Outcome outcome) { told = std::move(outcome); });
    ASSERT_TRUE(told && !*told) << bad;
    EXPECT_EQ(told->error().error.code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(is_mail_address("first.last+tag@mail.example.com"));
  EXPECT_TRUE(is_mail_address("admin@localhost"));
  EXPECT_FALSE(is_mail_address(std::string(250, 'a') + "@b.cd"));
}

TEST(Smtp, tells_what_is_wrong_with_a_url) {
  for (std::string good : {"smtp://mail", "SMTPS://mail:465/", "smtp://user:p%40ss@mail.example.com:587"})
    EXPECT_TRUE(check_smtp_url(good)) << good;
  for (std::string bad :
       {"", "mail", "http://mail", "smtp://", "smtp://:25", "smtp://u:p@", "smtp://u:p@ss@mail",
        "smtp://mail/x", "smtp://mail\r\n", "smtp://ma il", "smtp://mail?x"})
    EXPECT_FALSE(check_smtp_url(bad)) << bad;
}

}  // namespace
}  // namespace ctrlplane::net
