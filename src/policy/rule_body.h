// The object of a rule, read member by member. The first complaint stays: the caller reads everything and
// asks once at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/enums.h"
#include "model/json.h"
#include "state/selector.h"

namespace ctrlplane::policy {

class RuleBody {
 public:
  RuleBody(std::string path, const Json& body);
  ~RuleBody();
  RuleBody(const RuleBody&) = delete;

  std::string text(std::string_view name);  // must be there
  std::optional<std::string> maybe_text(std::string_view name);
  int64_t integer(std::string_view name, int64_t least, int64_t most);  // must be there
  std::optional<int64_t> maybe_integer(std::string_view name, int64_t least, int64_t most);
  std::optional<double> maybe_number(std::string_view name, double least, double most);
  bool flag(std::string_view name, bool otherwise);
  // One of these words, or the first if it is absent.
  std::string word(std::string_view name, std::initializer_list<std::string_view> words);
  std::optional<std::vector<std::string>> maybe_texts(std::string_view name);
  std::optional<std::vector<JobStatus>> maybe_statuses(std::string_view name);
  // A compiled selector; a bad one is a complaint with its place.
  std::shared_ptr<const Selector> selector(std::string_view name, Selector::Subject subject);
  std::shared_ptr<const Selector> maybe_selector(std::string_view name, Selector::Subject subject);

  void complain(std::string_view name, std::string message);
  void complain(const Error& error);  // of a member whose path the error carries
  // What was wrong, if anything.
  Status done() const;

 private:
  struct Parsed;
  std::string path_;
  std::unique_ptr<Parsed> parsed_;
  std::optional<Error> error_;
};

}  // namespace ctrlplane::policy
