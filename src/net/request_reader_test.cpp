#include "net/request_reader.h"

#include <gtest/gtest.h>

namespace ctrlplane::net {
namespace {

const RequestReader::BodyLimit kLimit = [](const Request&) { return size_t{100}; };

// The status the bytes are refused with; 0 if they make a request, -1 if more is wanted.
int verdict(std::string_view bytes) {
  RequestReader reader(1000, kLimit);
  reader.feed(bytes);
  return reader.error() ? reader.error() : reader.done() ? 0 : -1;
}

std::string with_header(std::string_view header) {
  return "POST / HTTP/1.1\r\nHost: x\r\n" + std::string(header) + "\r\n\r\n";
}
std::string chunked(std::string_view body) {
  return with_header("Transfer-Encoding: chunked") + std::string(body);
}

TEST(RequestReader, refuses_what_could_be_read_in_two_ways) {
  using namespace std::literals;
  const std::pair<int, std::string> table[] = {
      {400, with_header("Content-Length: 3\r\nTransfer-Encoding: chunked")},
      {400, with_header("Transfer-Encoding: chunked\r\nContent-Length: 3")},
      {400, with_header("Content-Length: 3\r\nContent-Length: 4")},
      {400, with_header("Content-Length: 3\r\nContent-Length: 3")},
      {400, with_header("Content-Length: 3, 3")},
      {400, with_header("Content-Length: +3")},
      {400, with_header("Content-Length: -1")},
      {400, with_header("Content-Length: 0x3")},
      {400, with_header("Content-Length: 3 4")},
      {400, with_header("Content-Length:")},
      {400, with_header("Content-Length: 99999999999999999999999")},
      {413, with_header("Content-Length: 101")},
      {413, with_header("Content-Length: 18446744073709551615")},
      {400, with_header("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")},
      {501, with_header("Transfer-Encoding: gzip, chunked")},
      {501, with_header("Transfer-Encoding: xchunked")},
      {501, with_header("Transfer-Encoding: identity")},
      {400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {400, with_header("X : space before the colon")},
      {400, with_header(" X: folded")},
      {400, with_header("A: b\r\n folded")},
      {400, with_header("no colon")},
      {400, with_header(": no name")},
      {400, with_header("Host: twice")},
      {400, with_header("X: \0"s)},
      {400, with_header("X: \x01")},
      {400, with_header("X: a\rb")},
      {400, with_header("X: a\nY: b")},
      {400, with_header("X\x80: b")},
      {400, "GET / HTTP/1.1\nHost: x\n\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET a HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET /#f HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET /\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTX/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/11\r\nHost: x\r\n\r\n"},
      {400, "G\x7fT / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "G(T / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "\x16\x03\x01\x02"},
      {505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
      {505, "PRI * HTTP/2.0\r\n\r\n"},
      {505, "GET / HTTP/1.2\r\nHost: x\r\n\r\n"},
      {431, with_header("X: " + std::string(1000, 'a'))},
      {431, "GET /" + std::string(1000, 'a')},
      {400, chunked("x\r\n")},
      {400, chunked("\r\n")},
      {400, chunked("-1\r\n")},
      {400, chunked("0x1\r\na\r\n0\r\n\r\n")},
      {400, chunked(" 1\r\na\r\n0\r\n\r\n")},
      {400, chunked("1 \r\na\r\n0\r\n\r\n")},
      {400, chunked("1\na\r\n0\r\n\r\n")},
      {400, chunked("1\r\naa\r\n0\r\n\r\n")},
      {400, chunked("1\r\na\n0\r\n\r\n")},
      {400, chunked("0\r\n\n")},
      {400, chunked("1;\n\r\na")},
      {413, chunked("65\r\n")},
      {413, chunked("fffffffffffffff\r\n")},
      {400, chunked("0000000000000001\r\n")},
      {413, chunked("32\r\n" + std::string(50, 'a') + "\r\n33\r\n")},
      {431, chunked("1;" + std::string(1001, 'a'))},
      {431, chunked("0\r\nT: " + std::string(1001, 'a'))},
      {0, chunked("0\r\n\r\n")},
      {0, chunked("3;ext=1\r\nabc\r\n0;x\r\nTrailer: t\r\n\r\n")},
      {0, with_header("Content-Length: 0")},
      {0, with_header("X:tight")},
      {0, with_header("X:\t spaced \t")},
      {0, "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {0, "GET / HTTP/1.0\r\n\r\n"},
      {0, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
      {-1, with_header("Content-Length: 3") + "ab"},
      {-1, chunked("0\r\n")},
  };
  for (const auto& [expected, bytes] : table) EXPECT_EQ(verdict(bytes), expected) << bytes;
}

TEST(RequestReader, finds_the_same_request_however_the_bytes_are_cut) {
  const std::string bytes =
      "POST /a%2Fb?q=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;e\r\nhello\r\nA\r\n, my world\r\n0\r\nT: trailer\r\n\r\n";
  auto expect_whole = [&](RequestReader& reader) {
    ASSERT_TRUE(reader.done());
    EXPECT_EQ(reader.request().path, "/a%2Fb");
    EXPECT_EQ(reader.request().query, "q=1");
    EXPECT_EQ(reader.request().body, "hello, my world");
    EXPECT_FALSE(reader.request().headers.find("T"));  // a trailer is not a header
  };
  for (size_t at = 0; at <= bytes.size(); ++at) {
    RequestReader reader(1000, kLimit);
    EXPECT_EQ(reader.feed(bytes.substr(0, at)), at);
    EXPECT_EQ(reader.feed(bytes.substr(at) + "GET"), bytes.size() - at) << at;  // and no byte of the next
    expect_whole(reader);
  }
  RequestReader one_by_one(1000, kLimit);
  for (char c : bytes) EXPECT_EQ(one_by_one.feed({&c, 1}), 1u);
  expect_whole(one_by_one);
}

TEST(RequestReader, judges_damaged_requests_alike_however_they_are_cut) {
  using namespace std::literals;
  const std::string seeds[] = {
      chunked("5;e\r\nhello\r\nA\r\n, my world\r\n0\r\nT: t\r\n\r\n"),
      with_header("Content-Length: 7\r\nConnection: keep-alive, close\r\nExpect: 100-continue") + "abcdefg",
      "GET http://h/p?q=%41 HTTP/1.0\r\nA: b\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
  };
  const std::string_view alphabet = "\r\n\t :;,/?09afAF-GHTP\"\\\0\x7f\xff"sv;
  uint64_t random = 1;
  auto below = [&](size_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(random >> 33) % n;
  };
  int good = 0, bad = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[below(3)];
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      size_t at = below(bytes.size());
      switch (below(3)) {
        case 0: bytes[at] = alphabet[below(alphabet.size())]; break;
        case 1: bytes.insert(at, 1, alphabet[below(alphabet.size())]); break;
        default: bytes.erase(at, 1 + below(3)); break;
      }
    }
    RequestReader whole(1000, kLimit), cut(1000, kLimit);
    size_t used = whole.feed(bytes), used_cut = 0;
    for (char c : bytes) used_cut += cut.feed({&c, 1});
    ASSERT_EQ(whole.error(), cut.error()) << bytes;
    ASSERT_EQ(whole.done(), cut.done()) << bytes;
    ASSERT_EQ(used, used_cut) << bytes;
    ASSERT_EQ(whole.request().body, cut.request().body) << bytes;
    good += whole.done();
    bad += whole.error() != 0;
  }
  EXPECT_GT(good, 1000);
  EXPECT_GT(bad, 1000);
}

TEST(RequestReader, takes_the_path_out_of_an_absolute_target) {
  RequestReader reader(1000, kLimit);
  reader.feed("GET http://h:1/p?q HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(reader.done());
  EXPECT_EQ(reader.request().path, "/p");
  EXPECT_EQ(reader.request().query, "q");
}

}  // namespace
}  // namespace ctrlplane::net
