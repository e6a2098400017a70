// Efficiencies in the terms of POP as properties (docs/efficiency.md): refrain properties --properties efficiency.asl, or in
// refrain check. They count the first thread of each process. In this form losses add up: what a run loses of its parallel
// efficiency is what it loses by load balance and what it loses by communication.

float AcceptableEfficiency = 0.8;  // POP's own threshold

// Of the process with most time; useful time is that outside of MPI.
float ElapsedOf(TestRun t) = MAX(l.User + l.Mpi WHERE l IN t.Locations AND l.Thread == 0);
float LargestUseful(TestRun t) = MAX(l.User WHERE l IN t.Locations AND l.Thread == 0);
float MeanUseful(TestRun t) = AVG(l.User WHERE l IN t.Locations AND l.Thread == 0);
// Useful time of the runs on the fewest processes.
float UsefulOnFewest(TestRun t) = AVG(o.User WHERE o IN t.Version.Runs AND o.NoPe == MIN(q.NoPe WHERE q IN t.Version.Runs));

// Processes are in MPI for more than a fifth of the time.
PROPERTY LowParallelEfficiency(TestRun t WITH t.NoPe > 1, Region Basis) {
  LET float Lost = ElapsedOf(t) - MeanUseful(t)
  IN CONDITION: MeanUseful(t) < AcceptableEfficiency * ElapsedOf(t); CONFIDENCE: 1;
  SEVERITY: Lost * t.NoPe / Duration(Basis, t);
}

// Some processes have more to compute than others.
PROPERTY LowLoadBalance(TestRun t WITH t.NoPe > 1, Region Basis) REFINES LowParallelEfficiency {
  LET float Lost = LargestUseful(t) - MeanUseful(t)
  IN CONDITION: MeanUseful(t) < AcceptableEfficiency * LargestUseful(t); CONFIDENCE: 1;
  SEVERITY: Lost * t.NoPe / Duration(Basis, t);
}

// Also the process with most to compute is in MPI for long.
PROPERTY LowCommunicationEfficiency(TestRun t WITH t.NoPe > 1, Region Basis) REFINES LowParallelEfficiency {
  LET float Lost = ElapsedOf(t) - LargestUseful(t)
  IN CONDITION: LargestUseful(t) < AcceptableEfficiency * ElapsedOf(t); CONFIDENCE: 1;
  SEVERITY: Lost * t.NoPe / Duration(Basis, t);
}

// The processes together compute longer than those of the runs on the fewest processes.
PROPERTY LowComputationScaling(TestRun t, Region Basis) {
  LET float Lost = t.User - UsefulOnFewest(t)
  IN CONDITION: UsefulOnFewest(t) < AcceptableEfficiency * t.User; CONFIDENCE: 1;
  SEVERITY: Lost / Duration(Basis, t);
}
