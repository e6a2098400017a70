/** The contents of the section `head` of a run (docs/explorer-format.md). */

export const FORMAT = 1;

export type Unit = 's' | 'B' | '1';
export type ErrorKind = 'exact' | 'samples' | 'given';

export interface Metric {
  name: string;
  title: string;
  unit: Unit;
  parent: number;
  help: string;
  advice: string;
  overlaps: boolean;
  by_place: boolean;
  /** Not known for parts of loops. */
  of_run_only: boolean;
  error: ErrorKind;
}

/**
 * The time that samples divide, in seconds, and the sum over threads of its square divided by the effective number of
 * samples, in square seconds.
 */
export interface Samples {
  seconds: number;
  variance: number;
}

export interface UnitOfRun {
  kind: 'run' | 'class' | 'iteration';
  name: string;
  loop: number;
  count: number;
  first: number;
  last: number;
  wall: number;
  mpi: number;
  user: number;
  reconstructed: boolean;
  has_values: boolean;
  by_place: boolean;
  ranges: [number, number][];
}

export interface SeriesRow {
  metric?: string;
  unit: Unit;
  node?: number;
  bins: number;
  width: number;
  /** Number of threads that were examined. */
  places: number;
  offset: number;
}

/** `bins` and `width` apply to the classes; each row has its own. */
export interface Series {
  bins: number;
  width: number;
  classes: number;
  rows: SeriesRow[];
}

export interface PlaceMap {
  metric: string;
  unit: Unit;
  rows: number;
  columns: number;
  places_in_row: number;
  width: number;
  scale: number;
  peak_scale: number;
  peaks: boolean;
  offset: number;
}

export interface Loop {
  name: string;
  node: number;
  iterations: number;
  /** Rank and thread of each location, in the order of the rows of maps. */
  ranks: number[];
  threads: number[];
  series: Series;
  maps: PlaceMap[];
}

export interface Finding {
  rule: string;
  share: number;
  error: number;
  text: string;
  part_of?: number;
  select: { metric?: string; node?: number; ranks?: [number, number][]; loop?: string; iterations?: [number, number] };
}

export interface Property {
  name: string;
  context: string;
  severity: number;
  confidence: number;
  node: number;
}

/** Efficiencies of the run or of a loop. A value of null is not known; an error of 0 means exact. */
export interface EfficiencyTree {
  loop: string;
  why: string;
  factors: { name: string; title: string; depth: number; value: number | null; error: number }[];
}

export interface Head {
  format: number;
  name: string;
  source: 'refrain' | 'cubex' | 'caliper' | 'tau' | 'otf2';
  ranks: number;
  facts: [string, string][];
  lacks: { view: string; text: string }[];
  metrics: Metric[];
  strings: string[];
  nodes: {
    name: number[]; parent: number[]; kind: number[]; marked: number[];
    /** The runtime that the function belongs to (runtimes.ts), 0: none; undefined: not known. */
    runtime?: number[];
  };
  places: {
    host: number[]; rank: number[]; last_rank: number[]; thread: number[]; locations: number[]; seconds: number[];
        variance: number[];
  };
  samples: Samples;
  units: UnitOfRun[];
  loops: Loop[];
  findings: Finding[];
  properties: Property[];
  efficiencies?: EfficiencyTree[];
}
