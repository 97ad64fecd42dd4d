#!/bin/sh
# Brings the packages to the state of a patch day and restarts the node, then waits until it is back.
set -eu
ssh "$NODE" sudo node-patch "$VERSION" # e.g. apt-get from a snapshot of that day's mirror
ssh "$NODE" sudo systemctl reboot || true # the connection ends with the machine
ssh -o ConnectTimeout=10 -o ConnectionAttempts=60 "$NODE" true
