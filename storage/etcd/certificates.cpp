#include "storage/etcd/certificates.hpp"

#include <ctime>
#include <fstream>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sstream>

#include "model/time.hpp"

namespace fairwater::inline storage::inline etcd {
namespace {

Expected<std::string> read_text(const std::string& path, const char* field) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file || content.str().empty())
    return make_error(ErrorCode::invalid_input, "cannot read " + path, field);
  return content.str();
}

/// `Value` is made of a PEM file's content, or throws.
template <class Value>
Expected<Value> read_pem(const std::string& path, const char* field, const char* what) {
  const auto text = read_text(path, field);
  if (!text) return text.error();
  try {
    return Value(kj::StringPtr(text->c_str()));
  } catch (const kj::Exception& fault) {
    return make_error(ErrorCode::invalid_input,
                      path + " holds no " + what + " as PEM: " + fault.getDescription().cStr(),
                      field);
  }
}

template <auto release>
struct Releases {
  template <class Value>
  void operator()(Value* value) const {
    release(value);
  }
};

using Source = std::unique_ptr<BIO, Releases<BIO_free>>;
using OwnCertificate = std::unique_ptr<X509, Releases<X509_free>>;
using OwnKey = std::unique_ptr<EVP_PKEY, Releases<EVP_PKEY_free>>;

Source source_of(const std::string& pem) {
  return Source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

WallTime time_of(const ASN1_TIME* time) {
  std::tm fields{};
  ASN1_TIME_to_tm(time, &fields);
  return {std::int64_t{::timegm(&fields)} * 1'000'000};
}

/// Of several the first counts.
caf::error check_own(const X509& certificate, const EVP_PKEY& key, const EtcdTls& files) {
  // KJ does not say: it goes on without the key, and each handshake fails.
  if (X509_check_private_key(&certificate, &key) != 1)
    return make_error(ErrorCode::invalid_input,
                      files.key_file + " is not the key of the certificate in " + files.cert_file,
                      "tls.key");
  // The members refuse it without a word of its time.
  const WallTime now = wall_time_now();
  const WallTime begins = time_of(X509_get0_notBefore(&certificate));
  const WallTime ends = time_of(X509_get0_notAfter(&certificate));
  if (begins <= now && now <= ends) return {};
  return make_error(ErrorCode::invalid_input,
                    "the certificate in " + files.cert_file + " is good from " +
                        utc_text(shown_time(begins)) + " to " + utc_text(shown_time(ends)) +
                        ", and it is " + utc_text(now) + " by this machine's clock",
                    "tls.cert");
}

caf::error check_own(const EtcdTls& files) {
  const auto certificate_text = read_text(files.cert_file, "tls.cert");
  if (!certificate_text) return certificate_text.error();
  const auto key_text = read_text(files.key_file, "tls.key");
  if (!key_text) return key_text.error();
  const Source certificate_source = source_of(*certificate_text);
  const Source key_source = source_of(*key_text);
  const OwnCertificate certificate(
      PEM_read_bio_X509_AUX(certificate_source.get(), nullptr, nullptr, nullptr));
  const OwnKey key(PEM_read_bio_PrivateKey(key_source.get(), nullptr, nullptr, nullptr));
  // What KJ could read, and this could not, is for the handshake to judge.
  caf::error wrong = certificate && key ? check_own(*certificate, *key, files) : caf::error{};
  ERR_clear_error();  // what is left there would be told of the next connection
  return wrong;
}

}  // namespace

Expected<Certificates> read_certificates(bool secure, const EtcdTls& files) {
  Certificates certificates;
  if (!secure) {
    if (files.ca_file.empty()) return certificates;
    return make_error(ErrorCode::invalid_input,
                      "is of no use: etcd names no https:// member, so nothing would be encrypted",
                      "tls");
  }
  if (files.ca_file.empty())
    return make_error(ErrorCode::invalid_input, "is needed for https:// members", "tls.ca");
  if (files.cert_file.empty() != files.key_file.empty())
    return make_error(ErrorCode::invalid_input, "cert and key belong together",
                      files.cert_file.empty() ? "tls.cert" : "tls.key");
  auto trusted = read_pem<kj::TlsCertificate>(files.ca_file, "tls.ca", "certificate");
  if (!trusted) return trusted.error();
  certificates.trusted.push_back(std::move(*trusted));
  if (files.cert_file.empty()) return certificates;
  auto own = read_pem<kj::TlsCertificate>(files.cert_file, "tls.cert", "certificate");
  if (!own) return own.error();
  auto key = read_pem<kj::TlsPrivateKey>(files.key_file, "tls.key", "private key");
  if (!key) return key.error();
  if (caf::error wrong = check_own(files)) return wrong;
  certificates.own.emplace(kj::TlsKeypair{std::move(*key), std::move(*own)});
  return certificates;
}

}  // namespace fairwater::inline storage::inline etcd
