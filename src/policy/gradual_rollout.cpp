// One target after the other, so many seconds apart, in an order that no one chooses.
#include <cmath>

#include <fmt/core.h>

#include "policy/brackets.h"
#include "policy/open_time.h"
#include "policy/rollout_rank.h"
#include "policy/rules.h"
#include "policy/skips.h"

namespace ctrlplane::policy {
namespace {

class GradualRolloutRule final : public Rule {
 public:
  explicit GradualRolloutRule(RuleBody& body)
      : interval_(seconds(body.integer("timeScaleInterval", 0, kMaxSeconds))) {
    if (!body.maybe_text("rolloutType")) body.complain("rolloutType", "is required");
    normalized_ = body.word("rolloutType", {"linear", "linear-normalized"}) == "linear-normalized";
  }

  bool is_rollout() const override { return true; }

  Gate gate() const override { return Gate::kStart; }
  Evaluation evaluate(const Question& q) const override {
    if (q.slot().current_version == q.version) return Evaluation::allowed();
    if (const BoundRule* bracket = own_bracket(q)) return within(*bracket, q);
    auto start = rollout_start(q);
    if (!start) {
      Evaluation e{.verdict = Verdict::kPending};
      if (q.words) e.message = "the roll-out starts when approval and progression are satisfied";
      return e;
    }
    return turn_of(q, *start, rollout_rank(q.state, q.target, q.version));
  }

 private:
  static constexpr int64_t kMaxSeconds = 366ll * 24 * 3600;

  // The target's bracket, if it is on the same policy: then all its members on a resource have one turn.
  static const BoundRule* own_bracket(const Question& q) {
    const BoundRule* bracket = bracket_of(q.state, q.target);
    if (!bracket) return nullptr;
    for (const BoundRule& b : q.rules->rules)
      if (b.row == q.rule) return b.policy == bracket->policy ? bracket : nullptr;
    return nullptr;
  }

  Evaluation within(const BoundRule& bracket, const Question& q) const {
    const GroupIx g = q.group ? q.group : group_locking(q.state, q.target, q.version);
    if (!g) {
      Evaluation e{.verdict = Verdict::kPending};
      if (q.words) e.message = "the roll-out starts when the bracket's collection window closes";
      if (q.words) e.unblock = "the bracket";
      return e;
    }
    const GroupSlot& group = q.state.groups[g];
    return turn_of(q, *group.row.ready_at,
                   bracket_rank(q.state, bracket.row->id, q.slot().environment, group));
  }

  Evaluation turn_of(const Question& q, Time start, Rank rank) const {
    auto turn = after_open_time(
        q, start, normalized_ ? normalized_offset(rank, interval_) : linear_offset(rank, interval_));
    Evaluation e = turn && q.now >= *turn ? Evaluation::allowed(*turn)
                                          : Evaluation{.verdict = Verdict::kPending, .next_at = turn};
    return words(q, e, start, rank, turn);
  }

  // The latest moment at which a gate before it was passed; the version's creation if there is none.
  static std::optional<Time> rollout_start(const Question& q) {
    Time start = q.candidate().created_at;
    for (const BoundRule& b : q.rules->rules) {
      if (!b.rule || !b.rule->starts_rollout()) continue;
      if (const PolicySkip* skip = skip_of(q, b.row->id)) {
        start = std::max(start, skip->created_at);
        continue;
      }
      Question about = q;
      about.rule = b.row;
      about.words = false;
      Evaluation e = b.rule->evaluate(about);
      if (e.verdict != Verdict::kAllowed) return std::nullopt;
      if (e.satisfied_at) start = std::max(start, *e.satisfied_at);
    }
    return start;
  }

  Evaluation words(const Question& q, Evaluation e, Time start, Rank rank, std::optional<Time> turn) const {
    if (!q.words) return e;
    e.message = fmt::format("number {} of {} in the roll-out since {}; its turn {} {}", rank.position + 1,
                            rank.of, format_rfc3339(start), e.verdict == Verdict::kAllowed ? "came" : "comes",
                            turn ? format_rfc3339(*turn) : "never: its windows do not open again");
    JsonWriter w;
    w.open().member("position", rank.position).member("targets", rank.of).member("startedAt", start);
    e.details = w.member("turnAt", turn).close().take();
    e.unblock = "time, or a policy skip";
    return e;
  }

  Duration interval_;
  bool normalized_ = false;
};

}  // namespace

std::unique_ptr<Rule> make_gradual_rollout(RuleBody& body, const Making&) {
  return std::make_unique<GradualRolloutRule>(body);
}

}  // namespace ctrlplane::policy
