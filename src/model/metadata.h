// String to string, sorted by key: a vector, because entities have few keys and there are many of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctrlplane {

class Metadata {
 public:
  using Entry = std::pair<std::string, std::string>;

  Metadata() = default;
  Metadata(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.first, e.second);
  }

  void set(std::string key, std::string value) {
    auto it = lower_bound(key);
    if (it != entries_.end() && it->first == key)
      it->second = std::move(value);
    else
      entries_.insert(it, {std::move(key), std::move(value)});
  }
  const std::string* find(std::string_view key) const {
    auto it = const_cast<Metadata*>(this)->lower_bound(key);
    return it != entries_.end() && it->first == key ? &it->second : nullptr;
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Metadata&) const = default;

  // As a canonical JSON object, and back. parse_trusted reads only what `json` wrote.
  std::string json() const;
  void append_json(std::string& out) const;
  static Metadata parse_trusted(std::string_view json);

 private:
  std::vector<Entry>::iterator lower_bound(std::string_view key) {
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](const Entry& e, std::string_view k) { return e.first < k; });
  }
  std::vector<Entry> entries_;
};

}  // namespace ctrlplane
