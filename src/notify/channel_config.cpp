#include "notify/channel_config.h"

#include <boost/json.hpp>

namespace ctrlplane::notify {

ChannelConfig read_config(const Json& config) {
  ChannelConfig read;
  boost::json::error_code error;
  boost::json::parse_options deep;
  deep.max_depth = 100;  // more than a stored document has
  boost::json::value parsed = boost::json::parse(config.text(), error, {}, deep);
  const boost::json::object* all = error ? nullptr : parsed.if_object();
  if (!all) return read;
  if (const auto* url = all->if_contains("url"); url && url->is_string())
    read.url = std::string_view(url->get_string());
  if (const auto* to = all->if_contains("to"); to && to->is_array()) {
    read.to.emplace();
    for (const auto& address : to->get_array())
      if (address.is_string()) read.to->emplace_back(std::string_view(address.get_string()));
  }
  return read;
}

}  // namespace ctrlplane::notify
