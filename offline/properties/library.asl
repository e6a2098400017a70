// The library of properties. What refines another one explains a part of its severity. A severity is a share of the time of Basis in the run where nothing else is said, so that
// severities can be compared.

// Thresholds. A specification of one's own may declare them again.
float ImbalanceThreshold = 0.1;        // deviation over mean
float SmallMessage = 1024;             // bytes, as of the finding small_messages
float ManyCalls = 1000;                // a second and process
float DriftThreshold = 0.05;           // of the mean of an iteration
float OutlierFactor = 2;               // times the mean
float ManyErrors = 3;                  // standard errors, as of findings
float SlowerThreshold = 0.03;          // of the time before, as of refrain check

// The functions of the paper.
TotalTiming Summary(Region r, TestRun t) = UNIQUE({s IN r.TotTimes WITH s.Run == t});
float Duration(Region r, TestRun t) = Summary(r, t).Incl;

float TypedTime(Region r, TestRun t, TimingType type) = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run == t AND tt.Type == type);
float WaitTime(Region r, TestRun t, WaitKind kind) = SUM(w.Time WHERE w IN r.Waits AND w.Run == t AND w.Kind == kind);
float WaitError(Region r, TestRun t, WaitKind kind) = MAX(w.Error WHERE w IN r.Waits AND w.Run == t AND w.Kind == kind);
PathTiming OfPath(CallPath p, TestRun t) = UNIQUE({s IN p.Timings WITH s.Run == t});
CallTiming OfCall(FunctionCall c, TestRun t) = UNIQUE({s IN c.Sums WITH s.Run == t});
// Of the runs with the fewest processes; the paper takes it that there is one.
float OnFewest(Region r) = AVG(s.Incl WHERE s IN r.TotTimes AND s.Run.NoPe == MIN(o.Run.NoPe WHERE o IN r.TotTimes));
// How many locations have the iterations of a loop.
float LocationsOf(Loop l) = AVG(s.Locations WHERE s IN l.Steps);
// How sure a value is: 1 without an error, 0 with one that is as large.
float Sureness(float value, float error) = MAX(1 - error / value, 0);

// Of Gerndt and Esser, section 4.2.

// Time lost against the run with the fewest processes, were the speedup linear.
PROPERTY SublinearSpeedup(Region r, TestRun t, Region Basis) {
  LET float TotalCost = Duration(r, t) - OnFewest(r)
  IN CONDITION: TotalCost > 0; CONFIDENCE: 1;
  SEVERITY: TotalCost / Duration(Basis, t);
}

// Overhead that was measured in a region: MPI.
PROPERTY MeasuredCost(Region r, TestRun t, Region Basis) {
  LET float Cost = Summary(r, t).Ovhd;
  IN CONDITION: Cost > 0; CONFIDENCE: 1;
  SEVERITY: Cost / Duration(Basis, t);
}

// Time lost against the run with the fewest processes that no measured overhead explains.
PROPERTY UnmeasuredCost(Region r, TestRun t, Region Basis) {
  LET float TotalCost = Duration(r, t) - OnFewest(r);
      float Cost = TotalCost - Summary(r, t).Ovhd
  IN CONDITION: Cost > 0; CONFIDENCE: 1;
  SEVERITY: Cost / Duration(Basis, t);
}

// Time in barriers.
PROPERTY SyncCost(Region r, TestRun t, Region Basis) REFINES CommunicationCost {
  LET float Barrier = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run == t AND tt.Type == Barrier);
  IN CONDITION: Barrier > 0; CONFIDENCE: 1;
  SEVERITY: Barrier / Duration(Basis, t);
}

// Processes spend different times in a barrier: what comes before it is out of balance.
PROPERTY LoadImbalance(FunctionCall Call WITH Call.Callee.Type == Barrier, TestRun t, Region Basis) REFINES SyncCost {
  LET CallTiming ct = OfCall(Call, t);
      float Dev = ct.StdevTime;
      float Mean = ct.MeanTime;
  IN CONDITION: Dev > ImbalanceThreshold * Mean; CONFIDENCE: 1;
  SEVERITY: Mean * t.NoPe / Duration(Basis, t);
}

// Time in MPI by what it is spent for.

// Time in MPI without its begin and end, and without files.
PROPERTY CommunicationCost(Region r, TestRun t, Region Basis) REFINES MeasuredCost {
  LET float Cost = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run == t AND tt.Type != InitFinalize AND tt.Type != FileIO AND tt.Type != FileOpen);
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Sending, receiving and completing single messages.
PROPERTY PointToPointCost(Region r, TestRun t, Region Basis) REFINES CommunicationCost {
  LET float Cost = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run == t AND (tt.Type == Send OR tt.Type == Receive OR tt.Type == SendReceive OR tt.Type == Probe
        OR tt.Type == RequestStart OR tt.Type == Request OR tt.Type == Wait OR tt.Type == Test));
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Collective operations other than barriers.
PROPERTY CollectiveCost(Region r, TestRun t, Region Basis) REFINES CommunicationCost {
  LET float Cost = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run == t AND (tt.Type == AllToAll OR tt.Type == OneToAll OR tt.Type == AllToOne OR tt.Type == Scan
        OR tt.Type == Neighbor));
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// One-sided operations, their synchronisation, and making windows.
PROPERTY OneSidedCost(Region r, TestRun t, Region Basis) REFINES CommunicationCost {
  LET float Cost = TypedTime(r, t, OneSided) + TypedTime(r, t, OneSidedSync) + TypedTime(r, t, Window);
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Reading and writing files by MPI.
PROPERTY FileCost(Region r, TestRun t, Region Basis) REFINES MeasuredCost {
  LET float Cost = TypedTime(r, t, FileIO) + TypedTime(r, t, FileOpen);
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Beginning and ending MPI.
PROPERTY StartupCost(Region r, TestRun t, Region Basis) REFINES MeasuredCost {
  LET float Cost = TypedTime(r, t, InitFinalize);
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Asking again and again whether a message is there.
PROPERTY Polling(Region r, TestRun t, Region Basis) REFINES PointToPointCost {
  LET float Cost = TypedTime(r, t, Test) + TypedTime(r, t, Probe);
  IN CONDITION: Cost > 0; CONFIDENCE: 1; SEVERITY: Cost / Duration(Basis, t);
}

// Waiting, by kind and place. What is estimated is the less sure the larger its standard error is.

// All waiting for other processes.
PROPERTY Waiting(Region r, TestRun t, Region Basis) {
  LET float Time = SUM(w.Time WHERE w IN r.Waits AND w.Run == t);
      float Error = SUM(w.Error WHERE w IN r.Waits AND w.Run == t);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// A receiver waits for a message that is sent late.
PROPERTY LateSender(Region r, TestRun t, Region Basis) REFINES PointToPointCost {
  LET float Time = WaitTime(r, t, late_sender); float Error = WaitError(r, t, late_sender);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// A sender waits for a receive that is posted late.
PROPERTY LateReceiver(Region r, TestRun t, Region Basis) REFINES PointToPointCost {
  LET float Time = WaitTime(r, t, late_receiver); float Error = WaitError(r, t, late_receiver);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Processes wait for the last one in an operation from all to all.
PROPERTY WaitAtAllToAll(Region r, TestRun t, Region Basis) REFINES CollectiveCost {
  LET float Time = WaitTime(r, t, wait_at_nxn); float Error = WaitError(r, t, wait_at_nxn);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Processes wait for the last one in a barrier.
PROPERTY WaitAtBarrier(Region r, TestRun t, Region Basis) REFINES SyncCost {
  LET float Time = WaitTime(r, t, wait_at_barrier); float Error = WaitError(r, t, wait_at_barrier);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Processes wait for the root of an operation from one to all.
PROPERTY LateBroadcast(Region r, TestRun t, Region Basis) REFINES CollectiveCost {
  LET float Time = WaitTime(r, t, late_broadcast); float Error = WaitError(r, t, late_broadcast);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// The root of an operation from all to one waits for the others.
PROPERTY EarlyReduce(Region r, TestRun t, Region Basis) REFINES CollectiveCost {
  LET float Time = WaitTime(r, t, early_reduce) + WaitTime(r, t, early_scan); float Error = MAX(WaitError(r, t, early_reduce), WaitError(r, t, early_scan));
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Waiting in one-sided communication.
PROPERTY OneSidedWaiting(Region r, TestRun t, Region Basis) REFINES OneSidedCost {
  LET float Time = WaitTime(r, t, wait_at_fence) + WaitTime(r, t, late_post) + WaitTime(r, t, early_wait) + WaitTime(r, t, lock_contention);
      float Error = MAX(WaitError(r, t, wait_at_fence), WaitError(r, t, late_post), WaitError(r, t, early_wait), WaitError(r, t, lock_contention));
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Processes start at different times.
PROPERTY WaitAtStart(Region r, TestRun t, Region Basis) REFINES StartupCost {
  LET float Time = WaitTime(r, t, wait_at_init); float Error = WaitError(r, t, wait_at_init);
  IN CONDITION: Time > Error; CONFIDENCE: Sureness(Time, Error); SEVERITY: Time / Duration(Basis, t);
}

// Where in the program most of the waiting is: call paths.
PROPERTY WaitingCallPath(CallPath p WITH p.Kind == MpiPath, TestRun t, Region Basis) {
  LET PathTiming pt = OfPath(p, t);
  IN CONDITION: pt.Waiting > pt.WaitingError; CONFIDENCE: pt.WaitingConfidence; SEVERITY: pt.Waiting / Duration(Basis, t);
}

// Balance.

// A function takes longer on some processes than on others; the severity is what its slowest process costs all.
PROPERTY UnevenFunction(FunctionCall Call WITH NOT Call.Callee.IsMpi, TestRun t, Region Basis) {
  LET CallTiming ct = OfCall(Call, t);
  IN CONDITION: ct.StdevTime > ImbalanceThreshold * ct.MeanTime; CONFIDENCE: 1;
  SEVERITY: (ct.MaxTime - ct.MeanTime) * t.NoPe / Duration(Basis, t);
}

// Processes have user code of different length.
PROPERTY UnevenProcesses(TestRun t, Region Basis) {
  LET float Most = MAX(l.User WHERE l IN t.Locations AND l.Thread == 0);
      float Mean = AVG(l.User WHERE l IN t.Locations AND l.Thread == 0);
      float Dev = STDEV(l.User WHERE l IN t.Locations AND l.Thread == 0);
  IN CONDITION: Dev > ImbalanceThreshold * Mean; CONFIDENCE: 1;
  SEVERITY: (Most - Mean) * t.NoPe / Duration(Basis, t);
}

// One process has a call path that the others do not have, and as much is waited.
PROPERTY SerialRegion(CallPath p WITH p.Kind == UserPath, TestRun t WITH t.NoPe > 1, Region Basis) {
  LET PathTiming pt = OfPath(p, t);
  IN CONDITION: pt.MaxIncl > 0.9 * pt.MeanIncl * t.NoPe; CONFIDENCE: Sureness(pt.Incl, pt.Error);
  SEVERITY: MIN(pt.MaxIncl * (t.NoPe - 1), SUM(w.Time WHERE w IN Basis.Waits AND w.Run == t)) / Duration(Basis, t);
}

// Where the time is.

// Call paths in which, without what they call, much time is spent: a hint where to look, not that anything is wrong.
PROPERTY DominantCallPath(CallPath p, TestRun t, Region Basis) {
  LET PathTiming pt = OfPath(p, t);
  IN CONDITION: p.Kind == UserPath AND pt.Excl > 0.1 * Duration(Basis, t); CONFIDENCE: 0.2;
  SEVERITY: pt.Excl / Duration(Basis, t);
}

// Many messages that are small: the cost of each is more than that of its bytes.
PROPERTY SmallMessages(CallPath p WITH p.Kind == MpiPath, TestRun t, Region Basis) REFINES PointToPointCost {
  LET PathTiming pt = OfPath(p, t);
      float Size = pt.BytesSent / pt.Messages
  IN CONDITION: pt.Messages / (t.Elapsed * t.NoPe) > ManyCalls AND Size < SmallMessage; CONFIDENCE: 0.8; SEVERITY: pt.Excl / Duration(Basis, t);
}

// A collective operation is called very often.
PROPERTY FrequentCollectives(FunctionCall Call WITH Call.Callee.Type == AllToAll OR Call.Callee.Type == OneToAll OR Call.Callee.Type == AllToOne OR Call.Callee.Type == Barrier,
    TestRun t, Region Basis) REFINES CollectiveCost {
  LET CallTiming ct = OfCall(Call, t);
  IN CONDITION: ct.MeanCalls / t.Elapsed > ManyCalls; CONFIDENCE: 1; SEVERITY: ct.MeanTime * t.NoPe / Duration(Basis, t);
}

// Some processes call a function much more often than others.
PROPERTY UnevenCalls(FunctionCall Call, TestRun t, Region Basis) {
  LET CallTiming ct = OfCall(Call, t);
  IN CONDITION: ct.StdevCalls > 0.5 * ct.MeanCalls; CONFIDENCE: 0.5; SEVERITY: ct.MeanTime * t.NoPe / Duration(Basis, t);
}

// Call paths that read and write files by MPI.
PROPERTY FileTraffic(CallPath p WITH p.Kind == MpiPath, TestRun t, Region Basis) {
  LET PathTiming pt = OfPath(p, t);
  IN CONDITION: pt.BytesRead + pt.BytesWritten > 0; CONFIDENCE: 0.5; SEVERITY: pt.Excl / Duration(Basis, t);
}

// The machine and the measurement.

// Processes did not run in user code: they waited for a core, a disk, or somebody else.
PROPERTY NotRunning(TestRun t, Region Basis) {
  CONDITION: t.NotOnCpu > 0; CONFIDENCE: 0.8; SEVERITY: t.NotOnCpu / Duration(Basis, t);
}

// They were ready to run and had no core: others ran on it, or a quota held them.
PROPERTY WaitingForCore(TestRun t, Region Basis) REFINES NotRunning {
  CONDITION: t.WaitedForCore > 0; CONFIDENCE: 1; SEVERITY: t.WaitedForCore / Duration(Basis, t);
}

// They slept in user code, or waited for a lock, a file or a page.
PROPERTY Blocking(TestRun t, Region Basis) REFINES NotRunning {
  CONDITION: t.Blocked > 0; CONFIDENCE: 1; SEVERITY: t.Blocked / Duration(Basis, t);
}

// One process waits for a core much more than others: its node is shared.
PROPERTY SharedCore(Location l, TestRun t, Region Basis) {
  LET float Mean = AVG(o.WaitedForCore WHERE o IN t.Locations AND o.Thread == l.Thread AND o != l);
  IN CONDITION: l.WaitedForCore > OutlierFactor * Mean; CONFIDENCE: 0.8; SEVERITY: (l.WaitedForCore - Mean) / Duration(Basis, t);
}

// What Refrain itself has cost.
PROPERTY MeasurementOverhead(TestRun t, Region Basis) {
  CONDITION: t.Refrain > 0.01 * t.Wall; CONFIDENCE: 1; SEVERITY: t.Refrain / Duration(Basis, t);
}

// Iterations of marked loops. Times are means over the locations that have an iteration.

// Iterations grow longer, by more than neighbours that resemble each other make by chance.
PROPERTY Drift(Loop l, TestRun t, Region Basis) {
  LET float MeanWall = AVG(s.MeanWall WHERE s IN l.Steps)
  IN CONDITION: l.Growth > DriftThreshold * MeanWall; CONFIDENCE: 0.9; SEVERITY: l.Growth * l.Count / 2 * LocationsOf(l) / Duration(Basis, t);
}

// The user code of iterations grows, as where lists are searched that become longer.
PROPERTY GrowingWork(Loop l, TestRun t, Region Basis) REFINES Drift {
  LET float First = AVG(s.MeanUser WHERE s IN l.Steps AND 4 * s.Number < l.Count);
      float Last = AVG(s.MeanUser WHERE s IN l.Steps AND 4 * s.Number >= 3 * l.Count);
  IN CONDITION: l.Growth > 0 AND Last > (1 + DriftThreshold) * First; CONFIDENCE: 0.7; SEVERITY: (Last - First) * l.Count / 2 * LocationsOf(l) / Duration(Basis, t);
}

// Communication of iterations grows.
PROPERTY GrowingCommunication(Loop l, TestRun t, Region Basis) REFINES Drift {
  LET float First = AVG(s.MeanMpi WHERE s IN l.Steps AND 4 * s.Number < l.Count);
      float Last = AVG(s.MeanMpi WHERE s IN l.Steps AND 4 * s.Number >= 3 * l.Count);
  IN CONDITION: l.Growth > 0 AND Last > (1 + DriftThreshold) * First; CONFIDENCE: 0.7; SEVERITY: (Last - First) * l.Count / 2 * LocationsOf(l) / Duration(Basis, t);
}

// Some iterations take much longer than the others.
PROPERTY OutlierIterations(Loop l, TestRun t, Region Basis) {
  LET float Mean = AVG(s.MeanWall WHERE s IN l.Steps);
      float Above = SUM(s.MeanWall - Mean WHERE s IN l.Steps AND s.MeanWall > OutlierFactor * Mean);
      int Number = COUNT(s WHERE s IN l.Steps AND s.MeanWall > OutlierFactor * Mean);
  IN CONDITION: Number > 0 AND 10 * Number < l.Count; CONFIDENCE: 1; SEVERITY: Above * LocationsOf(l) / Duration(Basis, t);
}

// In an iteration the user code of the processes differs: what the slowest one of each costs the others.
PROPERTY UnevenIterations(Loop l, TestRun t, Region Basis) {
  LET float Lost = SUM((s.MaxUser - s.MeanUser) * s.Locations WHERE s IN l.Steps);
      float Work = SUM(s.MeanUser * s.Locations WHERE s IN l.Steps);
  IN CONDITION: Lost > ImbalanceThreshold * Work; CONFIDENCE: 0.9; SEVERITY: Lost / Duration(Basis, t);
}

// The first iteration takes longer: data are read, caches are cold.
PROPERTY SlowFirstIteration(Loop l, TestRun t, Region Basis) {
  LET float First = UNIQUE({s IN l.Steps WITH s.Number == 0}).MeanWall;
      float Others = AVG(s.MeanWall WHERE s IN l.Steps AND s.Number > 0);
  IN CONDITION: l.Count > 2 AND First > OutlierFactor * Others; CONFIDENCE: 1; SEVERITY: (First - Others) * LocationsOf(l) / Duration(Basis, t);
}

// Several runs.

// A call path takes more own time, over all processes, than in the runs with the fewest ones: by more than the errors of both.
PROPERTY ScalingLoss(CallPath p, TestRun t, Region Basis) {
  LET int Fewest = MIN(o.NoPe WHERE o IN TestRun AND o.Version == t.Version);
      float Before = SUM(s.Excl WHERE s IN p.Timings AND s.Run.NoPe == Fewest) / COUNT(o WHERE o IN TestRun AND o.Version == t.Version AND o.NoPe == Fewest);
      int Runs = COUNT(o WHERE o IN TestRun AND o.Version == t.Version AND o.NoPe == Fewest);
      float SquaresBefore = SUM(s.ExclError * s.ExclError WHERE s IN p.Timings AND s.Run.NoPe == Fewest) / (Runs * Runs);
      PathTiming pt = OfPath(p, t);
      float Loss = pt.Excl - Before
  IN CONDITION: t.NoPe > Fewest AND Loss > 0 AND Loss * Loss > ManyErrors * ManyErrors * (pt.ExclError * pt.ExclError + SquaresBefore);
  CONFIDENCE: 0.9; SEVERITY: Loss / Duration(Basis, t);
}

// A function takes more time than in earlier runs, of any version, with as many processes: by more than the errors of all of them.
PROPERTY SlowerThanBefore(Region r, TestRun t, Region Basis) {
  LET float Now = Duration(r, t);
      float Before = AVG(s.Incl WHERE o IN r.Body.Program.Versions, f IN o.Functions, q IN f.Regions, s IN q.TotTimes
        AND f.Name == r.Body.Name AND q.Name == r.Name AND s.Run.NoPe == t.NoPe AND s.Run.Start < t.Start);
      int Runs = COUNT(s WHERE o IN r.Body.Program.Versions, f IN o.Functions, q IN f.Regions, s IN q.TotTimes
        AND f.Name == r.Body.Name AND q.Name == r.Name AND s.Run.NoPe == t.NoPe AND s.Run.Start < t.Start);
      float SquaresBefore = SUM(s.Error * s.Error WHERE o IN r.Body.Program.Versions, f IN o.Functions, q IN f.Regions, s IN q.TotTimes
        AND f.Name == r.Body.Name AND q.Name == r.Name AND s.Run.NoPe == t.NoPe AND s.Run.Start < t.Start) / (Runs * Runs);
      float Error = Summary(r, t).Error
  IN CONDITION: Now - Before > SlowerThreshold * Duration(Basis, t) AND (Now - Before) * (Now - Before) > ManyErrors * ManyErrors * (Error * Error + SquaresBefore);
  CONFIDENCE: 0.7; SEVERITY: (Now - Before) / Duration(Basis, t);
}
