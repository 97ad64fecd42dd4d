#include "net/http.h"

#include <gtest/gtest.h>

#include "net/wire.h"

namespace ctrlplane::net {
namespace {

using Strings = std::vector<std::string>;

TEST(PathSegments, are_decoded_one_by_one_so_that_an_escaped_slash_stays_inside) {
  EXPECT_EQ(*Request{.path = "/v1/res/a%2Fb%20c/x"}.path_segments(), (Strings{"v1", "res", "a/b c", "x"}));
  EXPECT_EQ(*Request{.path = "/"}.path_segments(), Strings{});
  EXPECT_EQ(*Request{.path = "/a/"}.path_segments(), (Strings{"a", ""}));
  EXPECT_EQ(*Request{.path = "/a+b"}.path_segments(), Strings{"a+b"});
}

TEST(PathSegments, refuse_malformed_escapes) {
  for (const char* path : {"/%", "/%4", "/%zz", "/%4g/a", "/a%2"})
    EXPECT_FALSE(Request{.path = path}.path_segments()) << path;
}

TEST(QueryPairs, keep_order_and_duplicates_and_decode_both_sides) {
  auto pairs = *Request{.query = "a=1&b=x+y%26z&a=2&flag&&=v&e="}.query_pairs();
  QueryPairs expected = {{"a", "1"}, {"b", "x y&z"}, {"a", "2"}, {"flag", ""}, {"", "v"}, {"e", ""}};
  EXPECT_EQ(pairs, expected);
  EXPECT_FALSE(Request{.query = "a=%x1"}.query_pairs());
}

TEST(Headers, are_found_without_regard_to_case) {
  Headers h{{"Content-Type", "a"}, {"X-Two", "1"}, {"x-two", "2"}};
  ASSERT_TRUE(h.find("content-type"));
  EXPECT_EQ(*h.find("content-type"), "a");
  EXPECT_EQ(h.count("X-TWO"), 2u);
  EXPECT_FALSE(h.find("X-Thre"));
}

std::string wire(const Response& response, WireFormat format = {}) {
  format.date = "D";
  std::string out;
  append_response(out, response, format);
  return out;
}

TEST(ResponseOnTheWire, a_header_value_cannot_start_another_header) {
  EXPECT_EQ(wire({.headers = {{"X", std::string("a\r\nSet-Cookie: b\0c", 18)}}}),
            "HTTP/1.1 200 OK\r\nDate: D\r\nX: a  Set-Cookie: b c\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseOnTheWire, framing_is_the_servers_own) {
  EXPECT_EQ(wire({.headers = {{"content-length", "9"}, {"Transfer-Encoding", "chunked"}, {"connection", "x"}},
                  .body = "ab"}),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 2\r\n\r\nab");
}

TEST(ResponseOnTheWire, no_body_where_none_may_be) {
  EXPECT_EQ(wire({.status = 204, .body = "ab"}), "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n");
  EXPECT_EQ(wire({.body = "ab"}, {.head_only = true}),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 2\r\n\r\n");
}

TEST(HttpDate, is_in_the_fixed_form) {
  EXPECT_EQ(format_http_date({784111777ll * 1'000'000}), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace ctrlplane::net
