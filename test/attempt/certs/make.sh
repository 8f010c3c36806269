#!/bin/sh
# Makes the certificates of these tests anew (see README.md). Needs OpenSSL 3; the tests themselves do not.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/index.txt"
names='DNS:localhost,DNS:receiver.test,DNS:*.receiver.test,IP:127.0.0.1,IP:::1'

# make NAME EXTENSIONS END [-selfsign]
make() {
  cat >"$work/ca.cnf" <<CNF
[ca]
default_ca = made_here
[made_here]
database = $work/index.txt
new_certs_dir = $work
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
$2
CNF
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"
  openssl req -new -key "$1.key" -subj "/CN=Postrider test: $1" -out "$work/$1.csr"
  if [ "${4:-}" = -selfsign ]; then issuer="-selfsign -keyfile $1.key"; else issuer='-cert ca.crt -keyfile ca.key'; fi
  # shellcheck disable=SC2086
  openssl ca -config "$work/ca.cnf" -batch -notext -startdate 20200101000000Z -enddate "$3" $issuer \
    -in "$work/$1.csr" -out "$1.crt" 2>/dev/null
}

make ca 'basicConstraints = critical,CA:TRUE' 21200101000000Z -selfsign
make good "subjectAltName = $names" 21200101000000Z
make expired "subjectAltName = $names" 20200102000000Z
make other-host 'subjectAltName = DNS:other.test' 21200101000000Z
make self-signed "subjectAltName = $names" 21200101000000Z -selfsign
# Nobody may issue more in its name.
rm -f ca.key
