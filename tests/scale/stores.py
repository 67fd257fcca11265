"""Test servers of object stores with a few videos in them, for `cargo xtask fleet`.

    stores.py google|tls|azure PORT FOLDER [AZURITE]

puts all files of FOLDER below `films/v/`, prints `ready`, and serves until its standard input ends. `google` is moto's S3 behind
the names of Google's XML API; `tls` is moto's S3 with a certificate of its own, whose authority is written to FOLDER/../ca.pem;
`azure` is Azurite, whose program is AZURITE.
"""

import base64
import datetime
import email.utils
import hashlib
import hmac
import ipaddress
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ACCOUNT = "devstoreaccount1"
# Azurite's own key, which is public.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
OCTETS = {"content-type": "application/octet-stream"}


def put(url, data, headers=None, context=None):
    request = urllib.request.Request(url, data=data, method="PUT", headers={**OCTETS, **(headers or {})})
    urllib.request.urlopen(request, timeout=30, context=context).read()


def azure_headers(path, length, query, more):
    """A signature with the shared key."""
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06", **more}
    named = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    resource = f"/{ACCOUNT}/{ACCOUNT}{path}" + "".join(f"\n{key}:{value}" for key, value in query)
    text = "\n".join(["PUT", "", "", str(length or ""), "", OCTETS["content-type"], *[""] * 6]) + f"\n{named}{resource}"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    return {**headers, "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}


def fill_azure(base, files):
    headers = azure_headers("/films", 0, [("restype", "container")], {})
    put(f"{base}/{ACCOUNT}/films?restype=container", b"", headers)
    for file in files:
        data, path = file.read_bytes(), f"/films/v/{file.name}"
        headers = azure_headers(path, len(data), [], {"x-ms-blob-type": "BlockBlob"})
        put(f"{base}/{ACCOUNT}{path}", data, headers)


def fill_s3(base, files, context=None):
    put(f"{base}/films", b"", context=context)
    for file in files:
        put(f"{base}/films/v/{file.name}", file.read_bytes(), context=context)


def google(application):
    """What Google calls conditions and generations, in the words of S3."""

    def answer(environ, start):
        if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        environ["HTTP_AUTHORIZATION"] = (
            "AWS4-HMAC-SHA256 Credential=t/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        )

        def named(status, headers, *rest):
            tag = dict((name.lower(), value) for name, value in headers).get("etag")
            return start(status, [*headers, *([("x-goog-generation", tag)] if tag else [])], *rest)

        return application(environ, named)

    return answer


def certificate(folder):
    """An authority, and a certificate of it for localhost."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.timezone.utc)

    def make(name, key, issuer, issuer_key, *extensions):
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder(issuer or subject, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(issuer_key, hashes.SHA256())

    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    authority = make("authority", keys[0], None, keys[0], (x509.BasicConstraints(True, None), True))
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    own = make("localhost", keys[1], authority.subject, keys[0], (x509.SubjectAlternativeName(names), False))
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    (folder / "server.pem").write_bytes(own.public_bytes(pem))
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.key").write_bytes(keys[1].private_bytes(pem, *plain))
    return folder / "ca.pem", folder / "server.pem", folder / "server.key"


def serve_moto(port, wrap=None, files=None):
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)
    context = None
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
    application = wrap(application) if wrap else application
    server = make_server("127.0.0.1", port, application, threaded=True, ssl_context=context)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def start_azurite(program, port, folder):
    words = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "-l", str(folder / "azurite")]
    words += ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
        except urllib.error.HTTPError:
            return child
        except OSError:
            time.sleep(0.1)
    raise SystemExit("azurite does not listen")


def main(kind, port, folder, *more):
    port, folder = int(port), pathlib.Path(folder)
    files, beside = sorted(folder.iterdir()), folder.parent
    child = None
    if kind == "google":
        serve_moto(port, wrap=google)
        fill_s3(f"http://127.0.0.1:{port}", files)
    elif kind == "tls":
        authority, *own = certificate(beside)
        serve_moto(port, files=own)
        fill_s3(f"https://localhost:{port}", files, ssl.create_default_context(cafile=authority))
    elif kind == "azure":
        child = start_azurite(more[0], port, beside)
        fill_azure(f"http://127.0.0.1:{port}", files)
    else:
        raise SystemExit(__doc__)
    print("ready", flush=True)
    sys.stdin.read()
    if child:
        child.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
