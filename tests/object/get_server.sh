#!/bin/sh
# Puts the object store of the tests into FOLDER, once: versitygw, a Go program that serves the S3
# protocol from a folder. Its first build takes minutes. usage: get_server.sh FOLDER
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
version=${SLUICE_TEST_S3_SERVER:-v1.8.0}
if [ -x "$folder/versitygw" ]; then
  exit 0
fi
if ! command -v go > /dev/null; then
  echo "there is no object store here: install Go, or put versitygw into $folder" >&2
  exit 3
fi
if ! GOBIN=$folder GOFLAGS=-p=1 nice -n 10 \
  go install "github.com/versity/versitygw/cmd/versitygw@$version" >&2; then
  echo "there is no object store here: Go could not build versitygw" >&2
  exit 3
fi
