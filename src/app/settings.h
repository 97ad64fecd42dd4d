// What `ctrlplane serve` can be told, by flag, environment or file, in that order.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace CLI {
class App;
}

namespace ctrlplane::app {

struct ServeSettings {
  std::string listen = "127.0.0.1:8080";
  std::string database = "sqlite:ctrlplane.db";  // or a PostgreSQL URL or connection string
  std::string advertise;  // where other replicas reach this one; empty: made from `listen`
  std::string tls_certificate, tls_key;
  std::string admin_email = "admin@localhost";
  std::string admin_password, admin_key;  // of the first start; made up and printed if empty
  std::string smtp_url, mail_from;        // both empty: no mail is sent
  std::string log_level = "info", log_format = "text";
  int keep_jobs_days = 90, keep_audit_days = 400, keep_outbox_days = 30;
  int session_days = 7;
  int shutdown_seconds = 30;
  bool secure_cookies = false;
  bool print_config = false;
};

// Adds the options to the verb.
void add_serve_options(CLI::App& verb, ServeSettings& settings);
// A connection text that may be shown.
std::string without_password(std::string text);
// As the file that would make these settings; secrets are not shown.
std::string describe(const ServeSettings& settings);

struct ListenAddress {
  std::string host;
  uint16_t port = 0;
};
// `host:port`, `[v6]:port` or `:port` (every address).
Result<ListenAddress> parse_listen(std::string_view text);

}  // namespace ctrlplane::app
