// At least so long between the creation of the version that runs (or is on its way) and the next one's turn.
#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

class VersionCooldownRule final : public Rule {
 public:
  explicit VersionCooldownRule(RuleBody& body)
      : interval_(seconds(body.integer("intervalSeconds", 0, kMaxSeconds))) {}

  Evaluation evaluate(const Question& q) const override {
    VersionIx before = q.slot().current_version;
    // The younger of the two: if a job on its way counted alone, a return to an older version would end the
    // very wait that made it return, and take turns with the newer one for ever.
    if (q.slot().first_job) {
      VersionIx on_its_way = q.state.jobs[q.slot().first_job].version;
      if (!before || created(q, on_its_way) > created(q, before)) before = on_its_way;
    }
    if (!before || before == q.version) return words(q, Evaluation::allowed(), {});
    Time from = q.state.versions[before].row.created_at + interval_;
    if (q.now >= from) return words(q, Evaluation::allowed(from), before);
    return words(q, {.verdict = Verdict::kPending, .next_at = from}, before);
  }

 private:
  static constexpr int64_t kMaxSeconds = 366ll * 24 * 3600;
  static Time created(const Question& q, VersionIx v) { return q.state.versions[v].row.created_at; }

  Evaluation words(const Question& q, Evaluation e, VersionIx before) const {
    if (!q.words) return e;
    if (!before)
      e.message = "nothing else runs here";
    else
      e.message =
          fmt::format("{} after {}: {}", format_iso8601(interval_), q.state.versions[before].row.tag,
                      e.verdict == Verdict::kAllowed ? "has passed" : "until " + format_rfc3339(*e.next_at));
    JsonWriter w;
    e.details = w.open().member("intervalSeconds", interval_.us / 1'000'000).close().take();
    e.unblock = "time";
    return e;
  }

  Duration interval_;
};

}  // namespace

std::unique_ptr<Rule> make_version_cooldown(RuleBody& body, const Making&) {
  return std::make_unique<VersionCooldownRule>(body);
}

}  // namespace ctrlplane::policy
