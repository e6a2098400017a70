// The data model of a database of experiments: that of Gerndt and Esser, "Specification Techniques for Automatic Performance
// Analysis Tools" (1999), section 4.1, and below what Refrain knows beside it.
//
// Times are in seconds, sums over all processes where nothing else is said. A region is the body of a function, or what the
// program marks. A value that is not known is missing.

class Program {
  String Name;
  setof ProgVersion Versions;
}

class ProgVersion {
  DateTime Compilation;        // of the executable; when it is not known that of the first run
  setof Function Functions;
  setof TestRun Runs;
  SourceCode Code;
  String Name;                 // as given, or from the build-id
  setof CallPath CallPaths;
}

class SourceCode {
  String Executable;           // path
  String BuildId;
}

class TestRun {
  DateTime Start;
  int NoPe;                    // processes
  int Clockspeed;              // MHz, where the experiment tells
  String Experiment;           // directory, or file
  String Source;               // refrain, cubex
  float Elapsed;               // of the location that took longest
  float Wall;                  // of all locations together, as all that follows
  float Mpi;
  float User;
  float NotOnCpu;              // of User
  float WaitedForCore;         // of NotOnCpu: ready to run; missing where it is not told
  float Blocked;               // of NotOnCpu: the rest
  float Refrain;               // measuring it
  bool Complete;
  ProgVersion Version;         // whose
  setof Location Locations;
  setof Loop Loops;
}

class Function {
  String Name;
  setof FunctionCall Calls;    // of this function
  setof Region Regions;
  bool IsMpi;
  TimingType Type;             // of an MPI function; missing: of others
  Program Program;             // whose
}

class Region {
  Region ParentRegion;
  setof TotalTiming TotTimes;
  setof TypedTiming TypTimes;
  String Name;
  Function Body;               // in which it is
  setof WaitTiming Waits;
}

class TotalTiming {
  TestRun Run;
  float Excl;                  // without regions below it
  float Incl;
  float Ovhd;                  // with regions below it: MPI
  float Error;                 // standard error of Incl
}

// What MPI functions do.
enum TimingType {
  Send, Receive, SendReceive, Probe, RequestStart, Request, Wait, Test,
  Barrier, AllToAll, OneToAll, AllToOne, Scan, Neighbor,
  OneSided, OneSidedSync, Window, FileOpen, FileIO, InitFinalize, OtherMpi
}

class TypedTiming {
  TestRun Run;
  TimingType Type;
  float Time;                  // with regions below it
}

class FunctionCall {
  Function Caller;
  Region CallingReg;
  setof CallTiming Sums;
  Function Callee;
}

// Over processes. Of functions that are sampled it is not known how often they were called.
class CallTiming {
  TestRun Run;
  float MinCalls; float MaxCalls; float MeanCalls; float StdevCalls;
  int MinCallsPe; int MaxCallsPe;
  float MinTime; float MaxTime; float MeanTime; float StdevTime;
  int MinTimePe; int MaxTimePe;
}

class Location {
  int Rank;
  int Thread;
  String Name;
  float Wall; float Mpi; float User; float NotOnCpu; float WaitedForCore; float Blocked; float Refrain;
}

// What is marked is a loop or region of the program; others are times that no function has.
enum PathKind { UserPath, MpiPath, OtherPath, MarkedPath }

class CallPath {
  String Name;                 // from the root, with " > " between
  CallPath Parent;
  Function Callee;
  PathKind Kind;
  int Depth;
  setof PathTiming Timings;
  setof Severity Severities;
}

// What a call path has in a run: sums over locations; spreads over processes.
class PathTiming {
  TestRun Run;
  float Excl; float Incl;
  float ExclError; float Error;  // standard errors of Excl and Incl
  float MinIncl; float MeanIncl; float MaxIncl;
  float Visits; float Messages; float BytesSent; float BytesReceived; float BytesRead; float BytesWritten;
  float Waiting; float WaitingError; float WaitingConfidence;
  WaitKind Kind;               // what most of the waiting is
}

// How long a region, with those below it, has waited for other processes: by what most of the waiting of each call path is.
class WaitTiming {
  TestRun Run;
  WaitKind Kind;
  float Time;
  float Error;
}

enum WaitKind {
  late_sender, late_receiver, wait_at_nxn, wait_at_barrier, late_broadcast, early_reduce, early_scan,
  wait_at_fence, late_post, early_wait, late_complete, lock_contention, wait_at_init, wait_at_finalize, other_waiting
}

class Metric {
  String Name;
  String Unit;
}

// Exclusive. Metrics are those of `refrain report --locations`, and with what `refrain analyze` has found.
class Severity {
  TestRun Run;
  Metric Of;
  Location At;
  float Value;
}

// The marked loops of a run, by name.
class Loop {
  String Name;
  int Count;                   // iterations
  float Growth;                // of MeanWall from the first to the last one, on a line or curve; 0: chance may make it
  setof Step Steps;
  setof Iteration Iterations;
  setof Cluster Clusters;
}

// One iteration of a loop, over all locations that have it.
class Step {
  int Number;
  int Locations;
  float MinWall; float MeanWall; float MaxWall;
  float MeanMpi;
  float MinUser; float MeanUser; float MaxUser;
}

// One iteration of a loop at one location.
class Iteration {
  Location At;
  int Number;
  Cluster Like;
  float Wall; float Mpi; float User;
}

class Cluster {
  Location At;
  int Label;
  int Members; int First; int Last;
  float MeanWall;
}
