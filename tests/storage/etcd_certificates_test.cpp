// What is said of the certificates by which etcd's members are asked.
#include <fstream>
#include <memory>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "storage/etcd/etcd.hpp"
#include "tests/storage/certificates.hpp"

namespace fairwater::test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

/// Good from so many seconds from now until so many.
KeyFiles make_own_signed(const std::string& path, std::int64_t from_s, std::int64_t until_s) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until_s);
  X509_set_pubkey(made.get(), key.get());
  REQUIRE(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
  const KeyFiles files{path + ".pem", path + ".key"};
  const auto write = [](const std::string& file, auto put) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(file.c_str(), "w"),
                                                              std::fclose);
    REQUIRE(put(out.get()) == 1);
  };
  write(files.certificate, [&](std::FILE* out) { return PEM_write_X509(out, made.get()); });
  write(files.key, [&](std::FILE* out) {
    return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace

TEST_CASE("certificates that cannot be used are named", "[unit][etcd]") {
  const TemporaryDirectory directory;
  const std::string nonsense = directory / "nonsense.pem";
  std::ofstream(nonsense) << "nonsense\n";
  const std::vector<std::string> secure{"https://head1:2379"};
  const auto refusal = [](const std::vector<std::string>& endpoints, const EtcdTls& tls) {
    const auto error = details(check_etcd({endpoints, tls}));
    CHECK(error.code == ErrorCode::invalid_input);
    return error.field + ": " + error.message;
  };
  CHECK(!check_etcd({{"http://head1:2379"}, {}}));
  CHECK_THAT(refusal({"http://head1:2379"}, {nonsense, {}, {}}), Contains("tls: is of no use"));
  CHECK_THAT(refusal(secure, {}), Contains("tls.ca: is needed"));
  CHECK(refusal(secure, {"/nowhere", {}, {}}) == "tls.ca: cannot read /nowhere");
  CHECK_THAT(refusal(secure, {nonsense, {}, {}}),
             Contains("tls.ca: " + nonsense + " holds no certificate"));
  CHECK_THAT(refusal(secure, {nonsense, nonsense, {}}), Contains("tls.key: cert and key"));
  if (!Authority::can_be_made()) return;
  const Authority authority;
  const KeyFiles own = authority.issue("coordinator", "coordinator");
  CHECK(!check_etcd({secure, {authority.file(), own.certificate, own.key}}));
  CHECK_THAT(refusal(secure, {authority.file(), own.key, own.key}),
             Contains("tls.cert: " + own.key + " holds no certificate"));
  CHECK_THAT(refusal(secure, {authority.file(), own.certificate, nonsense}),
             Contains("tls.key: " + nonsense + " holds no private key"));
  const KeyFiles other = authority.issue("other", "coordinator");
  CHECK(refusal(secure, {authority.file(), own.certificate, other.key}) ==
        "tls.key: " + other.key + " is not the key of the certificate in " + own.certificate);
  const auto times = [&](std::int64_t from_s, std::int64_t until_s) {
    const KeyFiles timed = make_own_signed(directory / "timed", from_s, until_s);
    const auto wrong = check_etcd({secure, {authority.file(), timed.certificate, timed.key}});
    return wrong ? details(wrong).field + ": " + details(wrong).message : "good";
  };
  constexpr std::int64_t kHour_s = 3600;
  CHECK(times(-kHour_s, kHour_s) == "good");
  CHECK_THAT(times(-2 * kHour_s, -kHour_s),
             StartsWith("tls.cert: the certificate in ") && Contains(" by this machine's clock"));
  CHECK_THAT(times(kHour_s, 2 * kHour_s), StartsWith("tls.cert: the certificate in "));
}

}  // namespace fairwater::test
