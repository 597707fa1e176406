import type { Answers } from './answers.ts';

/** The shared state of a cloud's parts. */
export interface World {
  /** The objects of the bucket, by key. */
  objects: Map<string, Buffer>;
  /** The metadata of objects, by key. */
  metadata: Map<string, Record<string, string>>;
  /** The time of objects by key (ISO 8601); default: now. */
  written: Map<string, string>;
  /** Inputs of the started executions. */
  started: object[];
}

export type Part = Answers | ((world: World) => Answers);

export function newWorld(): World {
  return { objects: new Map(), metadata: new Map(), written: new Map(), started: [] };
}

export function answersOf(part: Part, world: World): Answers {
  return typeof part === 'function' ? part(world) : part;
}
