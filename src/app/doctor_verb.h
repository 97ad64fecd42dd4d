// `ctrlplane doctor`: checks a store and says what to do.
#pragma once

#include <string>

#include "app/doctor.h"

namespace CLI {
class App;
}

namespace ctrlplane::app {

// Exit code 0: healthy, warnings included. 1: problems were found. 2: wrong use.
void add_doctor_verb(CLI::App& app, int& exit_code);

// A line for each check, and what it comes to.
std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis, const std::string& database);

}  // namespace ctrlplane::app
