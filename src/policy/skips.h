// Policy skips: a person's word that a rule is not to stand in the way of a version.
#pragma once

#include "policy/rule.h"

namespace ctrlplane::policy {

// The skip that covers this rule for the question's version and target now; null if there is none.
const PolicySkip* skip_of(const Question& q, RuleId rule);

// The same, whether it has expired or not.
const PolicySkip* skip_ever_of(const Question& q, RuleId rule);

}  // namespace ctrlplane::policy
