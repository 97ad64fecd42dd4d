#include "api/secret.h"

#include <gtest/gtest.h>

namespace ctrlplane::api {
namespace {

TEST(Secret, a_key_has_the_form_clients_know) {
  NewKey key = new_key();
  std::string text = key.text();
  std::string_view prefix, secret;
  ASSERT_TRUE(parse_key(text, prefix, secret));
  EXPECT_EQ(prefix, key.prefix);
  EXPECT_EQ(secret, key.secret);
  EXPECT_NE(new_key().text(), text);
}

TEST(Secret, refuses_what_is_no_key) {
  std::string_view prefix, secret;
  std::string good = std::string(16, 'a') + "." + std::string(64, 'b');
  EXPECT_TRUE(parse_key(good, prefix, secret));
  for (std::string bad :
       {std::string(), std::string("a.b"), good + "0", std::string(81, 'a'),
        std::string(16, 'A') + "." + std::string(64, 'b'), std::string(16, 'g') + good.substr(16)})
    EXPECT_FALSE(parse_key(bad, prefix, secret)) << bad;
}

TEST(Secret, hashes_as_everybody_does) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Secret, a_text_has_one_fingerprint_and_no_other_text_has_it) {
  Fingerprints prints, others;
  auto print = prints.of(std::string(64, 'a'));
  EXPECT_TRUE(Fingerprints::same(print, prints.of(std::string(64, 'a'))));
  for (size_t i = 0; i < 64; ++i) {
    std::string changed(64, 'a');
    changed[i] = 'b';
    EXPECT_FALSE(Fingerprints::same(print, prints.of(changed))) << i;
  }
  EXPECT_FALSE(Fingerprints::same(print, prints.of(std::string(63, 'a'))));
  EXPECT_FALSE(Fingerprints::same(print, prints.of("")));
  // It says nothing to whoever has not the same key.
  EXPECT_FALSE(Fingerprints::same(print, others.of(std::string(64, 'a'))));
}

TEST(Secret, a_password_is_known_again_and_its_hash_says_nothing) {
  init_secrets();
  std::string hash = hash_password("correct horse battery");
  EXPECT_TRUE(hash.starts_with("$argon2id$"));
  EXPECT_EQ(hash.find("horse"), std::string::npos);
  EXPECT_TRUE(verify_password(hash, "correct horse battery"));
  EXPECT_FALSE(verify_password(hash, "correct horse batterz"));
  EXPECT_FALSE(verify_password("", "anything"));
  EXPECT_FALSE(verify_password("nonsense", ""));
}

}  // namespace
}  // namespace ctrlplane::api
