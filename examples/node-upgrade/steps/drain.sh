#!/bin/sh
# Cordons the node and moves its workloads away. Draining a drained node changes nothing, so this may be repeated.
set -eu
kubectl drain "$NODE" --ignore-daemonsets --delete-emptydir-data --timeout=25m
