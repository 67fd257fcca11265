#!/bin/sh
# Submits a plan as an array job of AWS Batch. Register the job definition first, with your image and file system in it:
#   aws batch register-job-definition --cli-input-json file://job-definition.json
# Then:
#   submit.sh [--dry-run] QUEUE PLAN SHARDS
# SHARDS is the number of shards of the plan (visus status PLAN --json | jq .shards), 2 to 10000; plan at most that many.
# --dry-run prints the request in place of sending it.
set -eu

usage() {
  echo "usage: submit.sh [--dry-run] QUEUE PLAN SHARDS (2 to 10000)" >&2
  exit 2
}

dry=false
if [ "${1:-}" = --dry-run ]; then
  dry=true
  shift
fi
[ $# -eq 3 ] || usage
queue=$1 plan=$2 shards=$3
case $shards in '' | *[!0-9]*) usage ;; esac
{ [ "$shards" -ge 2 ] && [ "$shards" -le 10000 ]; } || usage
# What is put between the quotes of JSON must not end them.
case $queue$plan in *[\"\\]*) usage ;; esac

request=$(cat <<JSON
{
  "jobName": "visus",
  "jobQueue": "$queue",
  "jobDefinition": "${VISUS_JOB_DEFINITION:-visus}",
  "arrayProperties": { "size": $shards },
  "containerOverrides": { "command": ["work", "$plan"] }
}
JSON
)
if $dry; then
  printf '%s\n' "$request"
else
  exec aws batch submit-job --cli-input-json "$request"
fi
