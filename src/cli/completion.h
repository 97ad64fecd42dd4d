// Scripts that let a shell complete the verbs and their flags.
#pragma once

#include <string>
#include <vector>

namespace ctrlplane::cli {

// The words that may follow after the verbs of `path`.
struct CompletionNode {
  std::string path;                // "version create"; empty: the program itself
  std::vector<std::string> verbs;  // the next ones
  std::vector<std::string> flags;
  std::vector<std::string> words;  // what its first argument may be
};

std::string bash_completion(const std::vector<CompletionNode>& nodes);
std::string zsh_completion(const std::vector<CompletionNode>& nodes);
std::string fish_completion(const std::vector<CompletionNode>& nodes);

}  // namespace ctrlplane::cli
