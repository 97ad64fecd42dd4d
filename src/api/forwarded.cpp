#include "api/forwarded.h"

#include <sodium.h>

#include <fmt/core.h>

#include "api/secret.h"
#include "base/text.h"
#include "net/client.h"

namespace ctrlplane::api {
namespace {

// name=value pairs with ';' between; values percent-encoded, so any text can stand in a header.
class Pairs {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ';';
    text_ += fmt::format("{}={}", name, net::percent_encode(value));
  }
  template <class T>
  void add_maybe(std::string_view name, const std::optional<T>& id) {
    if (id) add(name, id->str());
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::optional<std::string> value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    size_t end = std::min(text.find(';'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) continue;
    auto value = net::percent_decode(pair.substr(name.size() + 1));
    return value ? std::optional(*std::move(value)) : std::nullopt;
  }
  return std::nullopt;
}

template <class T>
std::optional<T> id_of(std::string_view text, std::string_view name) {
  auto value = value_of(text, name);
  return value ? T::parse(*value) : std::nullopt;
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  auto bytes = [](std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); };
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes(text), text.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> digest;
  crypto_auth_hmacsha256_final(&state, digest.data());
  std::string hex;
  for (unsigned char b : digest) hex += fmt::format("{:02x}", b);
  return hex;
}

std::string written(const Forwarded& f) {
  Pairs pairs;
  pairs.add("to", f.to.str());
  pairs.add("request", f.request.str());
  pairs.add("workspace", f.workspace.str());
  pairs.add("user", f.who.user.str());
  pairs.add("email", f.who.email);
  if (f.who.instance_admin) pairs.add("admin", "yes");
  pairs.add_maybe("key", f.who.key);
  pairs.add_maybe("session", f.who.session);
  pairs.add_maybe("keyWorkspace", f.who.key_workspace);
  if (f.role) pairs.add("role", to_string(*f.role));
  if (f.who.key_role) pairs.add("keyRole", to_string(*f.who.key_role));
  if (f.who.key_expires_at) pairs.add("keyExpires", std::to_string(f.who.key_expires_at->us));
  return pairs.take();
}

std::optional<Forwarded> read(std::string_view text) {
  auto to = id_of<store::ReplicaId>(text, "to");
  auto request = id_of<Uuid>(text, "request");
  auto workspace = id_of<WorkspaceId>(text, "workspace");
  auto user = id_of<UserId>(text, "user");
  auto email = value_of(text, "email");
  if (!to || !request || !workspace || !user || !email) return std::nullopt;
  Forwarded f{
      .to = *to, .request = *request, .who = {.user = *user, .email = *email}, .workspace = *workspace};
  f.who.instance_admin = value_of(text, "admin") == "yes";
  f.who.key = id_of<KeyId>(text, "key");
  f.who.session = id_of<SessionId>(text, "session");
  f.who.key_workspace = id_of<WorkspaceId>(text, "keyWorkspace");
  if (auto role = value_of(text, "role")) f.role = parse_enum<Role>(*role);
  if (auto role = value_of(text, "keyRole")) f.who.key_role = parse_enum<Role>(*role);
  if (auto expires = value_of(text, "keyExpires")) f.who.key_expires_at = Time{std::stoll(*expires)};
  return f;
}

}  // namespace

std::string Seal::sign(const net::Request& request, std::string_view forwarded) const {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", request.method, request.path, request.query, forwarded,
                                 sha256_hex(request.body));
  for (std::string_view name : {"idempotency-key", "last-event-id", "content-type"}) {
    const std::string* value = request.headers.find(name);
    text += fmt::format("\n{}", value ? *value : "");
  }
  return hmac_sha256_hex(secret_, text);
}

void Seal::close(net::Request& request, const Forwarded& what) const {
  std::string text = written(what);
  request.headers.add(std::string(kSignatureHeader), sign(request, text));
  request.headers.add(std::string(kForwardedHeader), std::move(text));
}

std::optional<Forwarded> Seal::open(const net::Request& request) const {
  const std::string* text = request.headers.find(kForwardedHeader);
  const std::string* signature = request.headers.find(kSignatureHeader);
  if (!text || !signature || !same_secret(*signature, sign(request, *text))) return std::nullopt;
  return read(*text);
}

}  // namespace ctrlplane::api
