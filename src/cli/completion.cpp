#include "cli/completion.h"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/kinds.h"
#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const Kind& k : kinds()) words.emplace_back(k.plural);
  return words;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionNode>& nodes) {
  CompletionNode node{path, {}, {}, {}};
  for (const CLI::App* sub : app.get_subcommands({}))
    if (!sub->get_name().empty()) node.verbs.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) node.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) node.flags.push_back("--" + name);
  }
  if (path == "get" || path == "delete") node.words = kind_words();
  if (path == "freeze check") node.words = {"workspace", "system", "environment", "deployment"};
  if (path == "completion") node.words = {"bash", "zsh", "fish"};
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : app.get_subcommands({}))
    if (!sub->get_name().empty())
      collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), nodes);
}

std::string paths(const std::vector<CompletionNode>& nodes, std::string_view between) {
  std::string text;
  for (const CompletionNode& n : nodes)
    if (!n.path.empty()) text += fmt::format("{}'{}'", text.empty() ? "" : between, n.path);
  return text;
}

// One branch for each path: what may come next. Bash and zsh read the same.
std::string cases(const std::vector<CompletionNode>& nodes) {
  std::string text;
  for (const CompletionNode& n : nodes)
    text += fmt::format("    '{}') next='{} {}'; flags='{}' ;;\n", n.path, fmt::join(n.verbs, " "),
                        fmt::join(n.words, " "), fmt::join(n.flags, " "));
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CompletionNode>& nodes) {
  return fmt::format(R"(# bash completion of ctrlplane: source <(ctrlplane completion bash)
_ctrlplane() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path='' next='' flags='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{path:+$path }}${{COMP_WORDS[i]}}"
    case "$word" in {}) path="$word" ;; esac
  done
  case "$path" in
{}  esac
  if [[ "$current" == -* ]]; then next="$flags"; fi
  COMPREPLY=($(compgen -W "$next" -- "$current"))
}}
complete -o default -F _ctrlplane ctrlplane
)",
                     paths(nodes, "|"), cases(nodes));
}

std::string zsh_completion(const std::vector<CompletionNode>& nodes) {
  return fmt::format(R"(#compdef ctrlplane
# zsh completion of ctrlplane: ctrlplane completion zsh > "${{fpath[1]}}/_ctrlplane"
_ctrlplane() {{
  local at='' next='' flags='' word i
  for ((i = 2; i < CURRENT; i++)); do
    word="${{at:+$at }}${{words[i]}}"
    case "$word" in {}) at="$word" ;; esac
  done
  case "$at" in
{}  esac
  if [[ "$PREFIX" == -* ]]; then next="$flags"; fi
  if [[ -n "${{next// /}}" ]]; then compadd -- ${{=next}}; else _files; fi
}}
if [ "$funcstack[1]" = _ctrlplane ]; then _ctrlplane "$@"; else compdef _ctrlplane ctrlplane; fi
)",
                     paths(nodes, "|"), cases(nodes));
}

std::string fish_completion(const std::vector<CompletionNode>& nodes) {
  std::string text = fmt::format(R"(# fish completion of ctrlplane: ctrlplane completion fish | source
function __ctrlplane_path
    set -l path
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' $path $word) {}
            set path $path $word
        end
    end
    string join ' ' $path
end
)",
                                 paths(nodes, " "));
  for (const CompletionNode& n : nodes) {
    std::string when =
        fmt::format("complete -c ctrlplane -n 'test \"$(__ctrlplane_path)\" = \"{}\"'", n.path);
    for (const std::string& word : n.verbs) text += fmt::format("{} -f -a '{}'\n", when, word);
    for (const std::string& word : n.words) text += fmt::format("{} -f -a '{}'\n", when, word);
    for (const std::string& flag : n.flags)
      text += flag.starts_with("--") ? fmt::format("{} -l '{}'\n", when, flag.substr(2))
                                     : fmt::format("{} -s '{}'\n", when, flag.substr(1));
  }
  return text;
}

void add_completion(CLI::App& app, const FramePtr& frame) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb =
      app.add_subcommand("completion", "Print a script that completes verbs and flags in a shell");
  verb->footer("Example:\n  source <(ctrlplane completion bash)");
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([&app, frame, shell] {
    std::vector<CompletionNode> nodes;
    collect(app, "", nodes);
    frame->console.out << (*shell == "bash"  ? bash_completion(nodes)
                           : *shell == "zsh" ? zsh_completion(nodes)
                                             : fish_completion(nodes));
    frame->console.out.flush();
    frame->exit_code = kDone;
  });
}

}  // namespace ctrlplane::cli
