#!/bin/sh
# The node is back only when it says that it is ready.
set -eu
kubectl wait "node/$NODE" --for=condition=Ready --timeout=5m
kubectl uncordon "$NODE"
