"""A real object store on the loopback: versitygw over a folder of its own."""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = Path(os.environ["SLUICE_BUILD_DIR"]).parent / "tools"
KEY, SECRET, REGION = "tester-of-stores", "of-the-loopback/+=", "us-east-1"
START_S = 30


def missing():
    """Why there is no server; None if there is one. Builds it where that was not done yet."""
    done = subprocess.run([str(HERE / "get_server.sh"), str(TOOLS)], capture_output=True, text=True,
                          timeout=1500, check=False)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def keeps_attributes(folder):
    """Whether the file system keeps a file's extended attributes, which change with it at once."""
    try:
        os.setxattr(folder, "user.sluice.test", b"1")
        os.removexattr(folder, "user.sluice.test")
    except OSError:
        return False
    return True


def environment(endpoint, **more):
    """Of a process that uses the store at `endpoint`, and no file of its user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return {**kept, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION, "AWS_ENDPOINT_URL": endpoint, "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            **more}


class Server:
    """Buckets are the folders in `root`."""

    def __init__(self, root, port=None):
        self.root = Path(root)
        self.port = port or free_port()
        self.run = None
        for name in ("buckets", "facts"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        # Files beside the objects are not changed at once with them: a killed server may tear them.
        self.beside = None if keeps_attributes(self.root) else self.root / "facts"

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def make_bucket(self, name):
        (self.root / "buckets" / name).mkdir(exist_ok=True)

    def object_path(self, bucket, key):
        return self.root / "buckets" / bucket / key

    def set_etag(self, bucket, key, etag):
        """Of an object that stays as it is."""
        if self.beside is None:
            os.setxattr(self.object_path(bucket, key), "user.etag", etag.encode())
        else:
            (self.beside / bucket / key / "meta" / "etag").write_text(etag)

    def start(self):
        env = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        self.run = subprocess.Popen(
            [str(TOOLS / "versitygw"), "--port", f"127.0.0.1:{self.port}", "--region", REGION,
             "posix", *([] if self.beside is None else ["--sidecar", str(self.beside)]),
             str(self.root / "buckets")],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + START_S
        while time.monotonic() < limit:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            assert self.run.poll() is None, "the object store ended at once"
            time.sleep(0.05)
        raise AssertionError("the object store does not listen")

    def kill(self):
        if self.run is not None:
            self.run.kill()
            self.run.wait()
            self.run = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
