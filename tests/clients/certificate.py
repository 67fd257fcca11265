"""A certificate for 127.0.0.1 from an authority of its own, for tests over TLS.

Usage: python certificate.py FOLDER    writes authority.pem, server.pem and server.key
"""

import datetime
import ipaddress
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def begun(subject, issuer, key):
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder().subject_name(named(subject)).issuer_name(named(issuer))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - day).not_valid_after(now + 7 * day)


def main(folder):
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    usage = dict.fromkeys(
        ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
         "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"], False)
    top = begun("visus test authority", "visus test authority", authority)
    top = top.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    top = top.add_extension(x509.KeyUsage(**dict(usage, key_cert_sign=True, crl_sign=True)), critical=True)
    top = top.add_extension(identifier, critical=False).sign(authority, hashes.SHA256())
    leaf = begun("127.0.0.1", "visus test authority", server)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    leaf = leaf.add_extension(x509.SubjectAlternativeName(names), critical=False)
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    leaf = leaf.add_extension(issuer, critical=False).sign(authority, hashes.SHA256())
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(top.public_bytes(pem))
    (folder / "server.pem").write_bytes(leaf.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "server.key").write_bytes(server.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
