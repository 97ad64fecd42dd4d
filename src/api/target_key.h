// `{releaseTargetKey}` in a path.
#pragma once

#include "api/call.h"

namespace ctrlplane::api {

// kNotFound for what is no key: it names nothing.
Result<TargetKey> target_key_in(const Call& call);
Result<TargetIx> find_target(const State& state, const TargetKey& key);

}  // namespace ctrlplane::api
