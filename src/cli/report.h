// What became of each document, for a person as lines, for a program at the end as one value.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.h"
#include "cli/verb.h"

namespace ctrlplane::cli {

class Report {
 public:
  Report(Session& session, bool dry_run) : session_(session), dry_run_(dry_run), progress_(session.console) {}

  // Shows a progress line out of so many; 0: none.
  void expect(size_t total) { expected_ = total; }

  void created(const std::string& title);
  void changed(const std::string& title, const std::vector<std::string>& members);
  void unchanged(const std::string& title);
  void failed(const std::string& title, const Failure& failure);
  void skipped(const std::string& title, const std::string& because_of);
  // It was applied, and the server has something to say about it.
  void warned(const std::string& title, const std::string& warning);
  bool has_failed(const std::string& title) const { return failed_titles_.contains(title); }

  // The summary, and a failure if there was any.
  Outcome<void> finish();
  // The summary so far, and the failure that keeps the rest from being tried.
  Failure stop(const Failure& failure);

 private:
  struct Entry {
    std::string title, result;
    std::vector<std::string> members = {};
    std::string message = {};
  };
  void add(Entry entry, const std::string& line);
  void summarize();
  bool is_for_a_program() const {
    return session_.output == Output::kJson || session_.output == Output::kYaml;
  }

  Session& session_;
  bool dry_run_;
  ProgressLine progress_;
  size_t expected_ = 0;
  size_t created_ = 0, changed_ = 0, unchanged_ = 0, failed_ = 0, skipped_ = 0;
  std::set<std::string> failed_titles_;
  std::vector<Entry> entries_;
};

}  // namespace ctrlplane::cli
