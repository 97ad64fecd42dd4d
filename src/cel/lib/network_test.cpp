#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

TEST(Network, addresses) {
  EXPECT_EQ(eval_text("string(ip('192.168.0.1'))"), R"("192.168.0.1")");
  EXPECT_EQ(eval_text("string(ip('2001:DB8::68'))"), R"("2001:db8::68")");
  EXPECT_EQ(eval_text("string(ip('1:0:0:2:0:0:0:3'))"), R"("1:0:0:2::3")");
  EXPECT_EQ(eval_text("string(ip('::'))"), R"("::")");
  EXPECT_EQ(eval_text("string(ip('1::'))"), R"("1::")");
  for (std::string_view bad :
       {"192.168.0.1.0", "192.168.0", "01.2.3.4", "256.1.1.1", "2001:db8:::68", "fe80::1%en0",
        "::ffff:192.168.0.1", "1:2:3:4:5:6:7:8:9", "1:2", ":1", "1:", "", "1::2::3", "1:2:3:4:5:6:7:8::"}) {
    EXPECT_EQ(eval_text("ip('" + std::string(bad) + "')").substr(0, 22), "error invalid_argument") << bad;
    EXPECT_EQ(eval_text("isIP('" + std::string(bad) + "')"), "false") << bad;
  }
  EXPECT_EQ(eval_text("ip.isCanonical('2001:DB8::68')"), "false");
  EXPECT_EQ(eval_text("ip.isCanonical('2001:db8::68')"), "true");
  EXPECT_EQ(eval_text("type(ip('192.168.0.1')) == net.IP"), "true");
  EXPECT_EQ(eval_text("[ip('192.168.0.1').family(), ip('::1').family()]"), "[4, 6]");
  EXPECT_EQ(eval_text("ip('::ffff:c0a8:1') == ip('192.168.0.1')"), "true");
  EXPECT_EQ(eval_text("ip('127.0.0.1') == ip('10.0.0.1')"), "false");
  EXPECT_EQ(eval_text("['192.168.0.1', '255.255.255.255', '224.0.0.1', '2001:db8::abcd', 'ff00::1', '::']"
                      ".map(a, ip(a).isGlobalUnicast())"),
            "[true, false, false, true, false, false]");
  EXPECT_EQ(eval_text("['224.0.0.1', '224.0.1.1', 'ff02::1'].map(a, ip(a).isLinkLocalMulticast())"),
            "[true, false, true]");
  EXPECT_EQ(
      eval_text("['169.254.1.1', '192.168.0.1', 'fe80::1', 'fd80::1'].map(a, ip(a).isLinkLocalUnicast())"),
      "[true, false, true, false]");
  EXPECT_EQ(eval_text("['127.0.0.1', '::1', '1.2.3.4'].map(a, ip(a).isLoopback())"), "[true, true, false]");
  EXPECT_EQ(eval_text("ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()"), "true");
}

TEST(Network, networks) {
  EXPECT_EQ(eval_text("cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))"), "true");
  EXPECT_EQ(eval_text("cidr('192.168.0.0/24').containsIP('192.168.1.1')"), "false");
  EXPECT_EQ(eval_text("cidr('2001:db8::/32').containsIP('192.168.1.1')"), "false");
  EXPECT_EQ(eval_text("cidr('::/0').containsIP('192.168.1.1')"), "false");
  EXPECT_EQ(eval_text("cidr('0.0.0.0/0').containsIP('192.168.1.1')"), "true");
  EXPECT_EQ(eval_text("cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25')"), "true");
  EXPECT_EQ(eval_text("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))"), "false");
  EXPECT_EQ(eval_text("string(cidr('192.168.0.7/24').masked())"), R"("192.168.0.0/24")");
  EXPECT_EQ(eval_text("string(cidr('2001:db8:ffff::/33').masked())"), R"("2001:db8:8000::/33")");
  EXPECT_EQ(eval_text("cidr('192.168.0.1/24').ip() == ip('192.168.0.1')"), "true");
  EXPECT_EQ(eval_text("cidr('2001:db8::/32').prefixLength()"), "32");
  EXPECT_EQ(eval_text("cidr('127.0.0.1/24') == cidr('127.0.0.2/24')"), "false");
  EXPECT_EQ(eval_text("isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0') || isCIDR('10.0.0.0/')"), "false");
  EXPECT_EQ(eval_text("type(cidr('10.0.0.0/8')) == net.CIDR"), "true");
  EXPECT_TRUE(eval_text("isIP(cidr('10.0.0.0/8'))").starts_with("invalid 1:1: no isIP(net.CIDR)"));
}

}  // namespace
}  // namespace ctrlplane::cel
