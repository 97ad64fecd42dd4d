// Asking until it is done: what somebody who has to stop things now expects of a program.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/failure.h"
#include "cli/settings.h"
#include "net/client.h"

namespace ctrlplane::cli {

// Tries again while the server is away or asks for patience, for as long as it takes, and says so on `err`.
class Insistence {
 public:
  // `console` must outlive it.
  explicit Insistence(Console& console) : console_(console), line_(console) {}

  // Calls it until it works, or fails for a reason that time does not mend.
  Outcome<void> until_done(const std::function<Outcome<void>()>& attempt);
  int failures() const { return failures_; }
  // Since the first of them.
  Duration lasted() const { return failures_ ? console_.clock.boot() - since_ : Duration{}; }

 private:
  void say(const Failure& failure, Duration next);

  Console& console_;
  ProgressLine line_;
  int failures_ = 0;
  Duration since_ = {};
  std::optional<bool> answered_;  // what was said last of the server
};

// One POST that may be sent any number of times and happens once.
class RepeatablePost {
 public:
  // `settings` must outlive it.
  RepeatablePost(const Settings& settings, const std::string& path, const boost::json::value& body);

  Outcome<boost::json::value> send();

 private:
  const Settings& settings_;
  net::ClientRequest request_;
  net::HttpClient http_;
};

// While it lives, Ctrl-C says before it ends the process what is known about the freeze: nothing once it has
// been sent.
class InterruptNotice {
 public:
  explicit InterruptNotice(bool sent);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};  // as they were
};

}  // namespace ctrlplane::cli
