#!/bin/bash
# One migration in as many parts as the array has tasks, and then one file of their receipts:
#
#   parts=$(sbatch --parsable --array=1-8 slurm.sh /shared/sessions /shared/history)
#   sbatch --dependency=afterok:$parts --wrap 'everlog store compact /shared/history'
#
#SBATCH --job-name=everlog
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --requeue
set -eu
source=$1
store=$2
mkdir -p "$store.reports"
# A task that is requeued goes on where it was cut short.
exec everlog migrate "$source" -o "$store" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --json > "$store.reports/migrate-$SLURM_ARRAY_TASK_ID.jsonl"
