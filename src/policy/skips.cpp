#include "policy/skips.h"

namespace ctrlplane::policy {

namespace {

const PolicySkip* find(const Question& q, RuleId rule, bool expired_too) {
  for (const PolicySkip& s : q.state.skips_of(q.version)) {
    if (s.rule != rule || (!expired_too && s.expires_at && *s.expires_at <= q.now)) continue;
    if (s.environment && *s.environment != q.environment().id) continue;
    if (s.resource && *s.resource != q.resource().id) continue;
    return &s;
  }
  return nullptr;
}

}  // namespace

const PolicySkip* skip_of(const Question& q, RuleId rule) { return find(q, rule, false); }
const PolicySkip* skip_ever_of(const Question& q, RuleId rule) { return find(q, rule, true); }

}  // namespace ctrlplane::policy
