"""Plants each kind of violation in a small tree and sees it found, and that what is allowed passes."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tidy  # noqa: E402

CMAKE = """\
ctrlplane_module(base    LINKS          SYSTEM fmt::fmt)
ctrlplane_module(model   LINKS base     PRIVATE_SYSTEM Boost::json)
ctrlplane_module(state   LINKS model
                         SYSTEM roaring)
# ctrlplane_module(base LINKS engine)
ctrlplane_module(engine  LINKS state)
ctrlplane_module(store   LINKS model)
ctrlplane_module(runtime LINKS engine store)
ctrlplane_module(net     LINKS base)
ctrlplane_module(app     LINKS runtime net)
"""
DEV = "cmd_test() {\n}\ncmd_cel_conformance() {\n}\n"
HEADER = "#pragma once\n"


class TidyTest(unittest.TestCase):
    def check(self, files):
        """Violations of a tree with these files, as (rule, path, line)."""
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            for path, text in {"CMakeLists.txt": CMAKE, "dev": DEV, ".gitignore": "build/\n", **files}.items():
                Path(root, path).parent.mkdir(parents=True, exist_ok=True)
                Path(root, path).write_text(text)
            return [(rule, path, line) for rule, found in tidy.check(root).items() for path, line, _ in found]

    def finds(self, rule, path, text, line=1):
        self.assertEqual(self.check({path: text}), [(rule, path, line)], text)

    def passes(self, path, text):
        self.assertEqual(self.check({path: text}), [], text)

    def test_an_empty_tree_is_tidy(self):
        self.assertEqual(self.check({}), [])

    def test_ignored_files_are_not_read(self):
        self.passes("build/x.cpp", "co_await x;\n")

    # ---- modules

    def test_includes_against_the_arrows(self):
        self.finds("module_includes", "src/model/a.h", HEADER + '#include "state/state.h"\n', 2)
        self.finds("module_includes", "src/store/a_test.cpp", '\n#include "engine/x.h"\n', 2)
        self.finds("module_includes", "src/base/a.cpp", '#  include "engine/x.h"\n')
        self.finds("module_includes", "src/engine/a.cpp", "#include <store/store.h>\n")
        self.finds("module_includes", "src/engine/a.cpp", '#include "helper.h"\n')

    def test_includes_along_the_arrows(self):
        self.passes("src/engine/a.cpp", '#include "engine/b.h"\n#include "base/uuid.h"\n#include <vector>\n')
        self.passes("src/engine/a.cpp", '// #include "store/store.h"\n/*\n#include "runtime/x.h"\n*/\n')
        self.passes("src/store/a_test.cpp", '#include "support/postgres.h"\n')

    def test_a_module_must_be_declared(self):
        self.finds("module_includes", "src/extra/a.cpp", "int x;\n")

    def test_impure_includes(self):
        for name in ("fstream", "iostream", "cstdio", "filesystem", "thread", "mutex", "atomic", "random",
                     "sys/socket.h", "unistd.h", "netinet/in.h"):
            self.finds("pure_modules", "src/engine/a.cpp", f"\n#include <{name}>\n", 2)
            self.passes("src/engine/a_test.cpp", f"#include <{name}>\n")
            self.passes("src/runtime/a.cpp", f"#include <{name}>\n")
        self.finds("pure_modules", "src/state/a.cpp", '#include "base/clock.h"\n')
        self.finds("pure_modules", "cmake/precompiled.h", HEADER + "#include <thread>\n", 2)
        self.passes("src/model/a.cpp", "#include <chrono>\n#include <string>\n")

    def test_impure_calls(self):
        for call in ("std::chrono::system_clock::now()", "steady_clock::now()", "clock_gettime(c, &t)",
                     "time(nullptr)", "std::time( NULL )", "gettimeofday(&t, nullptr)", "getrandom(p, 8, 0)",
                     "std::rand()", "rand()", "std::random_device{}()", 'std::getenv("X")'):
            self.finds("pure_modules", "src/engine/a.cpp", f"int y;\nauto x = {call};\n", 2)
        self.passes("src/engine/a.cpp", 'auto s = "system_clock"; // time(nullptr)\nauto t = next_time(now);\n')

    def test_coroutines(self):
        for word in ("co_await", "co_return", "co_yield"):
            for path in ("src/net/a.cpp", "tests/a.cpp", "src/base/a_test.cpp"):
                self.finds("no_coroutines", path, f"void f() {{\n  {word} x;\n}}\n", 2)
        self.passes("src/net/a.cpp", "// no co_await here\n")

    # ---- jobs

    def test_jobs_made_elsewhere(self):
        for text in ("auto j = Job{};", "Job job;", "Job job{};", "Job job {id};", "v.emplace<Job>(id);",
                     "use(ctrlplane::Job{.id = id});", "auto j = Job();", "std::make_unique<Job>();",
                     "changes.push_back(Upsert{Job{}});"):
            self.finds("jobs_from_admission", "src/runtime/a.cpp", f"void f() {{\n  {text}\n}}\n", 2)
            for path in ("src/engine/admission.cpp", "src/store/a.cpp", "src/engine/a_test.cpp", "tests/a.cpp"):
                self.passes(path, text + "\n")

    def test_jobs_read_and_updated(self):
        self.passes("src/engine/a.cpp", "Job job = *old;\nconst Job& j = x;\nvoid f(Job job, JobId id);\n"
                    "std::optional<Job> find();\nauto g = [](int) -> Job { return x; };\nTargetJob{};\n")
        self.passes("src/state/a.h", HEADER + "struct Active { Job row; };\nstruct Job;\n")

    def test_hand_over_elsewhere(self):
        for text in ("job.handed_over_at = now;", "auto j = f({.handed_over_at = now});",
                     "j.handed_over_at.emplace(now);"):
            self.finds("one_hand_over", "src/engine/a.cpp", f"\n{text}\n", 2)
            for path in ("src/engine/handover.cpp", "src/store/a.cpp", "src/engine/a_test.cpp"):
                self.passes(path, text + "\n")
        self.passes("src/engine/a.cpp", "if (job.handed_over_at == now || job.handed_over_at <= now) f();\n")

    # ---- the simulator's checker

    def test_checker_includes_the_engine(self):
        for module in ("engine", "policy", "state", "runtime"):
            self.finds("independent_checker", "tests/sim/checker.cpp", f'#include "{module}/x.h"\n')
        self.passes("tests/sim/checker.cpp", '#include "model/entities.h"\n#include "store/store.h"\n')
        self.passes("tests/sim/world.cpp", '#include "engine/x.h"\n')

    def test_checker_reaches_the_engine_through_a_header(self):
        found = self.check({"tests/sim/checker.h": HEADER + '#include "sim/world.h"\n',
                            "tests/sim/world.h": HEADER + '#include "engine/x.h"\n'})
        self.assertEqual(found, [("independent_checker", "tests/sim/checker.h", 2)])
        found = self.check({"tests/sim/checker.h": HEADER + '#include "world.h"\n',
                            "tests/sim/world.h": HEADER + '#include "model/x.h"\n'})
        self.assertEqual(found, [])

    # ---- headers and text

    def test_heavy_headers(self):
        for header, good in (("boost/asio.hpp", "src/net/a.cpp"), ("boost/beast/http.hpp", "src/net/a.h"),
                             ("boost/json.hpp", "src/model/json.cpp"), ("boost/json/value.hpp", "tests/a.cpp"),
                             ("spdlog/spdlog.h", "src/base/log.cpp"), ("CLI/CLI.hpp", "src/app/main.cpp"),
                             ("libpq-fe.h", "src/store/postgres/a.cpp"), ("libpq-fe.h", "tests/a.cpp"),
                             ("sqlite3.h", "src/store/sqlite/a.cpp"), ("sqlite3.h", "src/store/a_test.cpp")):
            self.passes(good, f"#pragma once\n#include <{header}>\n")
            self.finds("heavy_headers", "src/runtime/a.cpp", f"#include <{header}>\n")
        self.finds("heavy_headers", "tests/a.h", HEADER + "#include <boost/json.hpp>\n", 2)
        self.passes("src/model/a.h", HEADER + "#include <boost/json/fwd.hpp>\n")

    def test_pragma_once(self):
        self.finds("pragma_once", "src/base/a.h", "int x;\n")
        self.finds("pragma_once", "tests/a.h", "// #pragma once\n")

    def test_long_files(self):
        self.finds("short_files", "src/base/a.cpp", "\n" * 701, 701)
        self.finds("short_files", "tests/a.cpp", "\n" * 701, 701)
        self.passes("src/base/a.cpp", "\n" * 700)
        self.passes("docs/a.md", "\n" * 800)

    def test_long_lines_and_tabs(self):
        self.finds("short_lines", "src/base/a.cpp", "\n//" + "x" * 119 + "\n", 2)
        self.passes("src/base/a.cpp", "//" + "é" * 118 + "\n")
        self.finds("no_tabs", "src/base/a.cpp", "\n\tint x;\n", 2)

    def test_sleeps(self):
        for call in ("std::this_thread::sleep_for(x);", "sleep(1);", "usleep (1);", "sleep_until(t);"):
            self.finds("no_sleeps", "tests/a.cpp", f"\n{call}\n", 2)
            self.finds("no_sleeps", "src/runtime/a.cpp", call + "\n")
        self.passes("tests/a.cpp", 'exec("SELECT pg_sleep(1)");  // sleep(1)\n')

    def test_machine_names(self):
        for text in ("/" + "root/x", "cd /" + "home/me", "'/" + "work/main'", "https://registry.npm" + "js.org/x",
                     "ghcr" + ".io/x", "https://artifactory" + ".corp.net/x"):
            self.finds("no_machine_names", "docs/a.md", f"\nsee {text}\n", 2)
        self.passes("docs/a.md", "/tmp/x ./work/x src/home/x registry.example.com/app ${root}/x\n")

    # ---- documents

    def test_modules_described(self):
        tree = {"src/base/a.cpp": "int x;\n", "src/model/a.cpp": "int x;\n"}
        found = self.check({**tree, "src/README.md": "# Modules\n**base** is below model.\n"})
        self.assertEqual(found, [("modules_described", "src/README.md", 1)])
        self.assertEqual(self.check({**tree, "src/README.md": "## `base`\n\n- model: rows\n"}), [])
        self.assertEqual(self.check(tree), [])

    def test_known_verbs(self):
        self.finds("known_verbs", "docs/a.md", "\nrun `./dev tset`\n", 2)
        self.passes("docs/a.md", "`./dev test --all`, `./dev cel-conformance DIR`, and `./dev` alone\n")

    def test_decisions_listed(self):
        self.finds("decisions_listed", "docs/decisions/0001-x.md", "# x\n")
        self.assertEqual(self.check({"docs/decisions/0001-x.md": "# x\n",
                                     "docs/decisions/README.md": "- [x](0001-x.md)\n"}), [])

    def test_every_rule_is_tried_here(self):
        text = Path(__file__).read_text()
        for rule in tidy.RULES:
            self.assertIn(f'"{rule.__name__}"', text)


if __name__ == "__main__":
    unittest.main()
