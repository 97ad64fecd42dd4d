#!/bin/sh
# What an agent runs for each job: the step that has the deployment's name.
#   ctrlplane agent --workspace node-upgrade --name nodes --concurrency 2 -- examples/node-upgrade/run.sh
# Where NODE_UPGRADE_STAND_IN is set, kubectl and ssh are scripts that only take their time: see README.md.
set -eu
here=$(dirname "$0")
if [ -n "${NODE_UPGRADE_STAND_IN:-}" ]; then
  PATH="$here/stand-in:$PATH"
  export PATH
fi
case "$CTRLPLANE_DEPLOYMENT_NAME" in
  drain | os-patch | kubelet | containerd | uncordon) ;;
  *)
    echo "there is no step for the deployment $CTRLPLANE_DEPLOYMENT_NAME" >&2
    exit 1
    ;;
esac
# Both go into command lines of other machines.
case "$CTRLPLANE_RESOURCE_NAME/$CTRLPLANE_VERSION_TAG" in
  -* | *[!A-Za-z0-9._+/-]*)
    echo "node '$CTRLPLANE_RESOURCE_NAME' or version '$CTRLPLANE_VERSION_TAG' has characters that it should not" >&2
    exit 1
    ;;
esac
NODE=$CTRLPLANE_RESOURCE_NAME VERSION=$CTRLPLANE_VERSION_TAG exec "$here/steps/$CTRLPLANE_DEPLOYMENT_NAME.sh"
