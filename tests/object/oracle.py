"""Other readers of a store at an address."""

import time

import numpy as np

import server as servers


def values(shape, step):
    size = int(np.prod(shape))
    return (np.arange(size, dtype="f8") * 0.5 + 1e6 * step).reshape(shape)


def kvstore(server, bucket, prefix):
    """As tensorstore spells it."""
    return {"driver": "s3", "bucket": bucket, "path": f"{prefix}/",
            "endpoint": server.endpoint, "aws_region": servers.REGION}


def tensorstore_context():
    import tensorstore
    return tensorstore.Context({"aws_credentials": {"type": "environment"}})


def read_by_tensorstore(server, bucket, prefix, name):
    import tensorstore
    return tensorstore.open({
        "driver": "zarr3", "kvstore": kvstore(server, bucket, f"{prefix}/{name}"),
    }, context=tensorstore_context(), read=True).result().read().result()


def put_by_tensorstore(server, bucket, prefix, name, data):
    import tensorstore
    tensorstore.KvStore.open(kvstore(server, bucket, prefix), context=tensorstore_context()
                             ).result().write(name, data).result()


def open_by_zarr(server, bucket, prefix):
    """The store as zarr-python sees it in the folder that the server has; and by the protocol where
    obstore is installed."""
    import zarr
    try:
        from obstore.store import S3Store
        from zarr.storage import ObjectStore
    except ImportError:
        return zarr.open_group(str(server.object_path(bucket, prefix)), mode="r")
    store = S3Store(bucket, prefix=prefix, endpoint=server.endpoint, region=servers.REGION,
                    access_key_id=servers.KEY, secret_access_key=servers.SECRET,
                    client_options={"allow_http": True}, virtual_hosted_style_request=False)
    return zarr.open_group(ObjectStore(store, read_only=True), mode="r")


def open_by_icechunk(server, bucket, prefix):
    import icechunk
    return icechunk.Repository.open(icechunk.s3_storage(
        bucket=bucket, prefix=prefix, endpoint_url=server.endpoint, region=servers.REGION,
        allow_http=True, force_path_style=True, access_key_id=servers.KEY,
        secret_access_key=servers.SECRET))


def steps_by_icechunk(server, bucket, prefix, shape, **version):
    """How many steps a version has, each with its values."""
    import zarr
    repo = open_by_icechunk(server, bucket, prefix)
    store = repo.readonly_session(**(version or {"branch": "main"})).store
    array = zarr.open_group(store, mode="r")["x"]
    for step in range(array.shape[0]):
        np.testing.assert_array_equal(array[step], values(shape, step))
    return array.shape[0]


def settled(look, quiet_s=1.0, most_s=30.0):
    """What `look()` returns, once it has been the same for `quiet_s`: the server may still carry
    out a put that a killed client had sent."""
    began = time.monotonic()
    found, since = look(), time.monotonic()
    while time.monotonic() - since < quiet_s:
        assert time.monotonic() - began < most_s, f"still changes: {found}"
        time.sleep(quiet_s / 10)
        now = look()
        if now != found:
            found, since = now, time.monotonic()
    return found


def check(server, bucket, prefix, shape, steps):
    """Every committed step has its values, and there is no other."""
    group = open_by_zarr(server, bucket, prefix)
    assert group["x"].shape == (steps, *shape), group["x"].shape
    for step in range(steps):
        np.testing.assert_array_equal(group["x"][step], values(shape, step))
