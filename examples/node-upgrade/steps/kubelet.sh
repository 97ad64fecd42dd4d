#!/bin/sh
set -eu
ssh "$NODE" sudo apt-get install -y --allow-change-held-packages "kubelet='${VERSION#v}-*'"
ssh "$NODE" sudo systemctl restart kubelet
