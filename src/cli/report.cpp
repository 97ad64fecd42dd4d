#include "cli/report.h"

#include <ostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/text.h"

namespace ctrlplane::cli {

namespace bj = boost::json;

void Report::add(Entry entry, const std::string& line) {
  progress_.clear();
  if (session_.output == Output::kName)
    session_.console.out << printable(entry.title) << '\n';
  else if (!is_for_a_program())
    session_.console.out << printable(line) << '\n';
  entries_.push_back(std::move(entry));
  if (expected_) progress_.show(fmt::format("{} of {}", entries_.size(), expected_));
}

void Report::created(const std::string& title) {
  ++created_;
  add({title, "created"}, fmt::format("{} {}created", title, dry_run_ ? "would be " : ""));
}

void Report::changed(const std::string& title, const std::vector<std::string>& members) {
  ++changed_;
  add({title, "changed", members},
      fmt::format("{} {}changed ({})", title, dry_run_ ? "would be " : "", fmt::join(members, ", ")));
}

void Report::unchanged(const std::string& title) {
  ++unchanged_;
  add({title, "unchanged"}, title + " unchanged");
}

void Report::failed(const std::string& title, const Failure& failure) {
  ++failed_;
  failed_titles_.insert(title);
  progress_.clear();
  std::ostream& err = session_.console.err;
  session_.console.out.flush();
  err << printable(title) << " failed: " << one_line(failure) << '\n';
  for (const ErrorDetail& d : failure.details) err << "  " << printable(d.path + ": " + d.message) << '\n';
  entries_.push_back({title, "failed", {}, one_line(failure)});
}

void Report::skipped(const std::string& title, const std::string& because_of) {
  ++skipped_;
  failed_titles_.insert(title);  // so that what depends on it is skipped as well
  progress_.clear();
  session_.console.out.flush();
  session_.console.err << printable(fmt::format("{} skipped: {} failed", title, because_of)) << '\n';
  entries_.push_back({title, "skipped", {}, because_of + " failed"});
}

void Report::warned(const std::string& title, const std::string& warning) {
  progress_.clear();
  session_.console.out.flush();
  session_.console.err << printable(fmt::format("{}: warning: {}", title, warning)) << '\n';
}

void Report::summarize() {
  progress_.clear();
  std::ostream& out = session_.console.out;
  if (is_for_a_program()) {
    bj::array all;
    for (const Entry& e : entries_) {
      bj::object o{{"document", e.title}, {"result", e.result}};
      if (!e.members.empty()) o["members"] = bj::value_from(e.members);
      if (!e.message.empty()) o["message"] = e.message;
      all.push_back(std::move(o));
    }
    out << value_text(session_.output, all);
    return;
  }
  if (session_.output == Output::kName) return;
  std::string_view would = dry_run_ ? "would be " : "";
  out << fmt::format("{} {}created, {} {}changed, {} unchanged", created_, would, changed_, would,
                     unchanged_);
  if (failed_) out << fmt::format(", {} failed", failed_);
  if (skipped_) out << fmt::format(", {} skipped", skipped_);
  out << '\n';
}

Outcome<void> Report::finish() {
  summarize();
  if (failed_ + skipped_ == 0) return {};
  return cli::failed(fmt::format("{} of {} documents were not applied", failed_ + skipped_, entries_.size()));
}

Failure Report::stop(const Failure& failure) {
  summarize();
  return failure;
}

}  // namespace ctrlplane::cli
