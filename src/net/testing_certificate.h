// A certificate for tests of TLS.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <string>

#include <support/temp_dir.h>

#include "net/server.h"

namespace ctrlplane::net {

// A folder with a fresh self-signed certificate for 127.0.0.1 and its key.
struct SelfSigned {
  SelfSigned() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    FILE* f = std::fopen(files().certificate_file.c_str(), "w");
    PEM_write_X509(f, certificate);
    std::fclose(f);
    f = std::fopen(files().key_file.c_str(), "w");
    PEM_write_PrivateKey(f, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(f);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  TlsFiles files() const { return {folder.file("cert.pem"), folder.file("key.pem")}; }

  test::TempDir folder;
};

}  // namespace ctrlplane::net
