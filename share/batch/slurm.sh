#!/bin/bash
# tra run under Slurm, which may end and begin it again as often as it likes: sbatch slurm.sh PROGRAM [OPTION...]
#
# USR1 comes two minutes before the time limit: tra saves its progress and ends with 75, the job puts itself back into
# the queue, and --resume goes on from there. So it does after the loss of a node (--requeue). The scratch directory
# must be one that all nodes see and that outlives the job.
#SBATCH --job-name=tra
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=tra-%j.log
export TRA_SCRATCH=${TRA_SCRATCH:-$PWD/scratch} TRA_THREADS=${TRA_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
mkdir -p "$TRA_SCRATCH"

# The launcher of the MPI library that tra was built with; it hands USR1 on to the ranks. bash runs the trap while it
# waits.
case $(tra version) in
*"Open MPI"*) start=(mpirun --bind-to none -n "${SLURM_NTASKS:-1}") ;;
*"no MPI"*) start=() ;;
*) start=(srun --mpi=pmi2 --kill-on-bad-exit) ;;
esac
"${start[@]}" tra run --resume "$@" &
run=$!
trap 'signalled=1; kill -USR1 $run 2>/dev/null' USR1 TERM
wait $run
status=$?
while [ -n "${signalled-}" ]; do # a signal ends a wait, not the run
    signalled=
    wait $run
    status=$?
done

# The launcher itself ends by a USR1 that comes before it listens, or when its ranks have just ended.
[ $status -ne 138 ] || status=75
[ $status -eq 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit $status
