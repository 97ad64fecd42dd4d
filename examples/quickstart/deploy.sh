#!/bin/sh
# What the local agent runs for each job. A real one would call kubectl, ansible or terraform here.
echo "deploying $CTRLPLANE_DEPLOYMENT_NAME $CTRLPLANE_VERSION_TAG to $CTRLPLANE_RESOURCE_NAME"
for step in pull apply check; do
  echo "  $step"
  sleep 1
done
echo "done"
