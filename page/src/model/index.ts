/** All that views know of the data. */
export * from './call_tree';
export * from './columns';
export * from './compare';
export * from './coupling';
export * from './flame';
export type { EfficiencyTree, Finding, Loop, Metric, PlaceMap, Property, SeriesRow, Unit } from './head';
export * from './items';
export { MPI, OTHER, USER, type ModelUnit } from './merge';
export * from './metric_tree';
export * from './model';
export * from './modes';
export { bytesInPage } from './payload';
export * from './pyramid';
export type { Run } from './run';
export * from './series';
export * from './span';
export * from './system_tree';
export * from './values';
