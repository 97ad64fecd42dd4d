#include "app/settings.h"

#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace ctrlplane::app {

void add_serve_options(CLI::App& verb, ServeSettings& s) {
  verb.set_config("--config", "", "a file with these settings (key = value lines)")
      ->envname("CTRLPLANE_SERVE_CONFIG");
  auto option = [&](std::string flag, auto& value, std::string env, std::string about) {
    return verb.add_option(flag, value, about)->envname(env)->capture_default_str();
  };
  option("--listen", s.listen, "CTRLPLANE_LISTEN", "address and port; port 0 takes a free one");
  option("--advertise", s.advertise, "CTRLPLANE_ADVERTISE",
         "URL at which other replicas reach this one; made from --listen and the host's name if not given");
  option("--database", s.database, "CTRLPLANE_DATABASE",
         "sqlite:FILE, or postgresql://… for several processes");
  option("--tls-certificate", s.tls_certificate, "CTRLPLANE_TLS_CERTIFICATE",
         "PEM file with the whole chain");
  option("--tls-key", s.tls_key, "CTRLPLANE_TLS_KEY", "PEM file");
  option("--admin-email", s.admin_email, "CTRLPLANE_ADMIN_EMAIL",
         "the first user's address, at the first start");
  verb.add_option("--admin-password", s.admin_password,
                  "the first user's password; made up and printed if not set")
      ->envname("CTRLPLANE_ADMIN_PASSWORD");
  verb.add_option("--admin-key", s.admin_key, "the first user's API key; made up and printed if not set")
      ->envname("CTRLPLANE_ADMIN_KEY");
  option("--smtp-url", s.smtp_url, "CTRLPLANE_SMTP_URL",
         "mail server for notifications: smtp://[user:password@]host[:port], or smtps://…");
  option("--mail-from", s.mail_from, "CTRLPLANE_MAIL_FROM", "the address notifications are sent from");
  option("--log-level", s.log_level, "CTRLPLANE_LOG_LEVEL", "what to log")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}));
  option("--log-format", s.log_format, "CTRLPLANE_LOG_FORMAT", "how to log")
      ->check(CLI::IsMember({"text", "json"}));
  auto days = CLI::Range(1, 36500);
  option("--keep-jobs-days", s.keep_jobs_days, "CTRLPLANE_KEEP_JOBS_DAYS", "history of ended jobs")
      ->check(days);
  option("--keep-audit-days", s.keep_audit_days, "CTRLPLANE_KEEP_AUDIT_DAYS", "who did what")->check(days);
  option("--keep-outbox-days", s.keep_outbox_days, "CTRLPLANE_KEEP_OUTBOX_DAYS", "delivered messages")
      ->check(days);
  option("--session-days", s.session_days, "CTRLPLANE_SESSION_DAYS", "how long a sign-in lasts")
      ->check(CLI::Range(1, 365));
  option("--shutdown-seconds", s.shutdown_seconds, "CTRLPLANE_SHUTDOWN_SECONDS",
         "for what was accepted to finish")
      ->check(CLI::Range(0, 3600));
  verb.add_flag("--secure-cookies", s.secure_cookies,
                "the server is reached by HTTPS only (a proxy's, or its own)")
      ->envname("CTRLPLANE_SECURE_COOKIES");
  verb.add_flag("--print-config", s.print_config, "print the settings in force as a file, and end")
      ->configurable(false);
}

std::string describe(const ServeSettings& s) {
  auto hidden = [](const std::string& secret) { return secret.empty() ? "" : "(hidden)"; };
  return fmt::format(
      "listen = \"{}\"\nadvertise = \"{}\"\ndatabase = \"{}\"\ntls-certificate = \"{}\"\ntls-key = "
      "\"{}\"\nadmin-email = \"{}\"\n"
      "# admin-password {}\n# admin-key {}\nsmtp-url = \"{}\"\nmail-from = \"{}\"\nlog-level = "
      "\"{}\"\nlog-format = \"{}\"\nkeep-jobs-days = {}\n"
      "keep-audit-days = {}\nkeep-outbox-days = {}\nsession-days = {}\nshutdown-seconds = {}\nsecure-cookies "
      "= {}\n",
      s.listen, s.advertise, without_password(s.database), s.tls_certificate, s.tls_key, s.admin_email,
      hidden(s.admin_password), hidden(s.admin_key), without_password(s.smtp_url), s.mail_from, s.log_level,
      s.log_format, s.keep_jobs_days, s.keep_audit_days, s.keep_outbox_days, s.session_days,
      s.shutdown_seconds, s.secure_cookies);
}

// postgresql://user:secret@host → postgresql://user:***@host, and password=… likewise.
std::string without_password(std::string text) {
  size_t scheme = text.find("://");
  size_t at = text.find('@', scheme == std::string::npos ? 0 : scheme);
  if (scheme != std::string::npos && at != std::string::npos) {
    size_t colon = text.find(':', scheme + 3);
    if (colon != std::string::npos && colon < at) text.replace(colon + 1, at - colon - 1, "***");
  }
  if (size_t from = text.find("password="); from != std::string::npos) {
    from += 9;
    size_t end = text.find(' ', from);
    text.replace(from, end == std::string::npos ? end : end - from, "***");
  }
  return text;
}

Result<ListenAddress> parse_listen(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid("listen", "must be ADDRESS:PORT");
  ListenAddress a{.host = std::string(text.substr(0, colon))};
  std::string_view digits = text.substr(colon + 1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), a.port);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
    return invalid("listen", fmt::format("'{}' is no port", digits));
  if (a.host.starts_with('[') && a.host.ends_with(']')) a.host = a.host.substr(1, a.host.size() - 2);
  if (a.host.empty()) a.host = "0.0.0.0";
  if (a.host == "localhost") a.host = "127.0.0.1";
  return a;
}

}  // namespace ctrlplane::app
