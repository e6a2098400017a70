"""A program of mpi4py: buffers and objects, blocking and not, a split communicator. Prints what it has computed."""

import pickle
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
peer = rank ^ 1 if size > 1 else MPI.PROC_NULL


def buffers(rounds):
    out, received = bytearray(1000), bytearray(1000)
    total = 0
    for i in range(rounds):
        out[i % 1000] = (i + rank) % 256
        world.Sendrecv([out, MPI.BYTE], peer, 1, [received, MPI.BYTE], peer, 1)
        request = world.Irecv([received, 500, MPI.BYTE], peer, 2)
        world.Send([out, 500, MPI.BYTE], peer, 2)
        request.Wait()
        total += sum(received)
    return total


def objects(rounds):
    total = 0
    for i in range(rounds):
        got = world.sendrecv({"round": i, "rank": rank}, peer, 3, None, peer, 3)
        total += got["round"] + got["rank"] if got else 0
    return total


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def main():
    rounds = int(sys.argv[1])
    half = world.Split(rank % 2, rank)
    sums = world.allgather((rank, buffers(rounds), objects(rounds)))
    compute(0.2)
    half.Barrier()
    if rank == 0:
        print(sums, half.Get_size(), len(pickle.dumps({"round": 0, "rank": 0}, protocol=5)))


main()
