#!/bin/sh
set -eu
ssh "$NODE" sudo apt-get install -y --allow-change-held-packages "containerd.io='$VERSION-*'"
ssh "$NODE" sudo systemctl restart containerd
