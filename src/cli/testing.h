// A small server that keeps what it is sent and speaks the API's shapes, and a way to run verbs against it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <support/temp_dir.h>

#include "base/time.h"

namespace ctrlplane::cli {

class FakeServer {
 public:
  FakeServer();  // with the workspace "acme"
  ~FakeServer();

  std::string url() const;
  void add_workspace(const std::string& slug);
  // Puts a thing (JSON) into a list of the workspace acme, e.g. "systems" or "deployments/{id}/versions", and
  // answers with its id, which it gets unless it has one.
  std::string add(const std::string& list, const std::string& json);
  // Says `status` and `body` to requests that begin so ("POST /api/v1/workspaces/acme/systems"), `times`
  // times.
  void refuse(const std::string& beginning, int status, const std::string& body, int times = 1'000'000);
  // A header of those refusals.
  void refuse_with(const std::string& name, const std::string& value);
  // What the stream's n-th reader is sent; after that the stream ends if `then_end`.
  void script_stream(std::vector<std::string> texts, bool then_end);
  void commit(const std::string& entity, const std::string& id);

  std::vector<std::string> requests() const;                        // "GET /path?query"
  std::vector<std::string> writes() const;                          // those that are not GET
  std::vector<std::string> bodies() const;                          // of the writes
  std::vector<std::string> headers(const std::string& name) const;  // of all requests, where present
  size_t count(const std::string& list) const;
  std::string thing(const std::string& list, size_t index) const;  // as JSON

  // Each look at the release targets moves the rollout on by one target; from this job on they fail.
  void fail_jobs_after(size_t targets);

  // Versions with a target selector are for the first `matched` + `undetermined` of the release targets.
  void scope_versions(size_t matched, size_t undetermined, size_t total);

  // The port stays taken but nobody answers any more.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct RunOptions {
  std::map<std::string, std::string> environment = {};
  std::string input = {};
  bool terminal = false;  // all three streams
  size_t width = 0;
  size_t lines = 0;  // the reader of the output goes away after so many; 0: stays
  std::function<void()> on_pause = [] {};
};

struct RunResult {
  int code = -1;
  std::string out, err;
};

// Without --url and without a key: see run_at.
RunResult run_bare(std::vector<std::string> arguments, RunOptions options = {});
// With the server's URL and a key in the environment.
RunResult run_at(const FakeServer& server, std::vector<std::string> arguments, RunOptions options = {});

struct TemporaryFolder : test::TempDir {
  std::string write(const std::string& name, const std::string& text) const;  // its path
};

}  // namespace ctrlplane::cli
