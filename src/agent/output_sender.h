// Carries a command's output to the server, beside its running: nothing here ever holds the command up.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "agent/api.h"
#include "agent/backoff.h"
#include "agent/bell.h"
#include "agent/output_buffer.h"

namespace ctrlplane::agent {

// Sends pieces of 64 KiB, or what there is after a second. What cannot be sent is tried again; what is
// refused for good ends the sending, not the job.
class OutputSender {
 public:
  OutputSender(ApiOptions api, std::string job, const Clock& clock, Duration tick);
  // Ends a request that is under way.
  ~OutputSender();

  void append(std::string_view bytes);
  void finish();  // no more will come
  // True once everything is sent or sending was refused; false if that takes longer than `at_most`.
  bool flush(Duration at_most);
  std::string last_line() const;

 private:
  void run();
  bool send_piece();  // false: to be tried again
  bool due() const;
  bool settled() const;

  const Clock& clock_;
  const std::string job_;
  Api api_;
  Bell bell_;
  mutable std::mutex mutex_;  // of what follows
  OutputBuffer buffer_;
  Duration oldest_ = {};  // when the first byte that waits came
  bool urgent_ = false, refused_ = false, stopping_ = false;
  std::jthread thread_;
};

}  // namespace ctrlplane::agent
