#include "tests/storage/certificates.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace fairwater::test {
namespace {

/// An elliptic curve's: made in milliseconds.
const std::string kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";

}  // namespace

bool Authority::can_be_made() { return std::system("openssl version >/dev/null 2>&1") == 0; }

Authority::Authority() {
  run("req -x509 " + kNewKey + " -subj /CN=authority -keyout ca.key -out ca.pem");
}

KeyFiles Authority::issue(const std::string& name, const std::string& host) const {
  std::ofstream(directory_ / (name + ".ext")) << "subjectAltName=DNS:" << host << "\n";
  run("req " + kNewKey + " -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr");
  run("x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile " +
      name + ".ext -out " + name + ".pem");
  return {directory_ / (name + ".pem"), directory_ / (name + ".key")};
}

void Authority::run(const std::string& command) const {
  const std::string directory = directory_ / ".";
  if (std::system(("cd " + directory + " && openssl " + command + " 2>/dev/null").c_str()) != 0)
    throw std::runtime_error("openssl " + command);
}

}  // namespace fairwater::test
