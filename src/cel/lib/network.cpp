// ip('10.0.0.1'), cidr('10.0.0.0/8') and what can be asked of them.
#include <new>

#include <fmt/core.h>

#include "cel/lib/address.h"
#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

constexpr std::string_view kIpType = "net.IP";
constexpr std::string_view kCidrType = "net.CIDR";

template <class T, const std::string_view& kName>
class NetworkValue final : public Opaque {
 public:
  explicit NetworkValue(const T& v) : value(v) {}
  std::string_view type_name() const override { return kName; }
  bool equals(const Opaque& other) const override {
    return value == static_cast<const NetworkValue&>(other).value;
  }
  std::string text() const override { return value.text(); }
  const Opaque* copy(Arena& arena) const override {
    void* p = arena.allocate(sizeof(NetworkValue));
    return p == nullptr ? nullptr : new (p) NetworkValue(value);
  }

  const T value;
};
using IpValue = NetworkValue<Address, kIpType>;
using CidrValue = NetworkValue<Network, kCidrType>;

template <class V, class T>
Value make(Context& ctx, const T& value) {
  const Opaque* o = V(value).copy(ctx.arena);
  return o == nullptr ? ctx.out_of_memory() : Value::opaque(*o);
}

const Address* as_ip(const Value& v) {
  if (!v.is(Kind::kOpaque) || v.as_opaque().type_name() != kIpType) return nullptr;
  return &static_cast<const IpValue&>(v.as_opaque()).value;
}

const Network* as_cidr(const Value& v) {
  if (!v.is(Kind::kOpaque) || v.as_opaque().type_name() != kCidrType) return nullptr;
  return &static_cast<const CidrValue&>(v.as_opaque()).value;
}

Value bad(Context& ctx, std::string_view what, std::string_view text) {
  return ctx.fault(Fault::kInvalidArgument, fmt::format("not {}: {}", what, quote(text.substr(0, 80), '\'')));
}

// ip(text), and cidr.ip().
Value ip(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1 && args[0].is(Kind::kString)) {
    auto a = parse_address(args[0].as_text());
    return a ? make<IpValue>(ctx, *a) : bad(ctx, "an IP address", args[0].as_text());
  }
  const Network* network = args.size() == 1 ? as_cidr(args[0]) : nullptr;
  return network == nullptr ? ctx.no_overload("ip", args) : make<IpValue>(ctx, network->address);
}

Value cidr(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("cidr", args);
  auto n = parse_network(args[0].as_text());
  return n ? make<CidrValue>(ctx, *n) : bad(ctx, "a network", args[0].as_text());
}

Value is_ip(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("isIP", args);
  return Value::boolean(parse_address(args[0].as_text()).has_value());
}

Value is_cidr(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("isCIDR", args);
  return Value::boolean(parse_network(args[0].as_text()).has_value());
}

Value is_canonical(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("ip.isCanonical", args);
  auto a = parse_address(args[0].as_text());
  return a ? Value::boolean(a->text() == args[0].as_text()) : bad(ctx, "an IP address", args[0].as_text());
}

Value family(Context& ctx, std::span<const Value> args) {
  const Address* a = args.size() == 1 ? as_ip(args[0]) : nullptr;
  return a == nullptr ? ctx.no_overload("family", args) : Value::integer(a->v4 ? 4 : 6);
}

template <bool (Address::*kTest)() const>
Value test(Context& ctx, std::span<const Value> args) {
  const Address* a = args.size() == 1 ? as_ip(args[0]) : nullptr;
  return a == nullptr ? ctx.no_overload("address test", args) : Value::boolean((a->*kTest)());
}

Value contains_ip(Context& ctx, std::span<const Value> args) {
  const Network* network = args.size() == 2 ? as_cidr(args[0]) : nullptr;
  if (network == nullptr) return ctx.no_overload("containsIP", args);
  if (const Address* a = as_ip(args[1])) return Value::boolean(network->contains(*a));
  if (!args[1].is(Kind::kString)) return ctx.no_overload("containsIP", args);
  auto a = parse_address(args[1].as_text());
  return a ? Value::boolean(network->contains(*a)) : bad(ctx, "an IP address", args[1].as_text());
}

Value contains_cidr(Context& ctx, std::span<const Value> args) {
  const Network* network = args.size() == 2 ? as_cidr(args[0]) : nullptr;
  if (network == nullptr) return ctx.no_overload("containsCIDR", args);
  if (const Network* n = as_cidr(args[1])) return Value::boolean(network->contains(*n));
  if (!args[1].is(Kind::kString)) return ctx.no_overload("containsCIDR", args);
  auto n = parse_network(args[1].as_text());
  return n ? Value::boolean(network->contains(*n)) : bad(ctx, "a network", args[1].as_text());
}

Value masked(Context& ctx, std::span<const Value> args) {
  const Network* network = args.size() == 1 ? as_cidr(args[0]) : nullptr;
  return network == nullptr ? ctx.no_overload("masked", args) : make<CidrValue>(ctx, network->masked());
}

Value prefix_length(Context& ctx, std::span<const Value> args) {
  const Network* network = args.size() == 1 ? as_cidr(args[0]) : nullptr;
  return network == nullptr ? ctx.no_overload("prefixLength", args) : Value::integer(network->prefix);
}

constexpr std::array<std::string_view, 8> kTest = {"net.IP -> bool"};
constexpr FunctionRow kRows[] = {
    {"ip", Style::kGlobal, ip, {"string -> net.IP"}},
    {"ip", Style::kMember, ip, {"net.CIDR -> net.IP"}},
    {"cidr", Style::kGlobal, cidr, {"string -> net.CIDR"}},
    {"isIP", Style::kGlobal, is_ip, {"string -> bool"}},
    {"isCIDR", Style::kGlobal, is_cidr, {"string -> bool"}},
    {"ip.isCanonical", Style::kGlobal, is_canonical, {"string -> bool"}},
    {"family", Style::kMember, family, {"net.IP -> int"}},
    {"isUnspecified", Style::kMember, test<&Address::is_unspecified>, kTest},
    {"isLoopback", Style::kMember, test<&Address::is_loopback>, kTest},
    {"isGlobalUnicast", Style::kMember, test<&Address::is_global_unicast>, kTest},
    {"isLinkLocalMulticast", Style::kMember, test<&Address::is_link_local_multicast>, kTest},
    {"isLinkLocalUnicast", Style::kMember, test<&Address::is_link_local_unicast>, kTest},
    {"containsIP", Style::kMember, contains_ip, {"net.CIDR, net.IP -> bool", "net.CIDR, string -> bool"}},
    {"containsCIDR",
     Style::kMember,
     contains_cidr,
     {"net.CIDR, net.CIDR -> bool", "net.CIDR, string -> bool"}},
    {"masked", Style::kMember, masked, {"net.CIDR -> net.CIDR"}},
    {"prefixLength", Style::kMember, prefix_length, {"net.CIDR -> int"}},
};

}  // namespace

std::span<const FunctionRow> network_functions() { return kRows; }

}  // namespace ctrlplane::cel
