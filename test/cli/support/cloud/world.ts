import type { Answers } from './answers.ts';

export interface World {
  objects: Map<string, Buffer>;
  metadata: Map<string, Record<string, string>>;
  /** The time of objects by key (ISO 8601); default: now. */
  written: Map<string, string>;
  started: object[];
}

export type Part = Answers | ((world: World) => Answers);

export function newWorld(): World {
  return { objects: new Map(), metadata: new Map(), written: new Map(), started: [] };
}

export function answersOf(part: Part, world: World): Answers {
  return typeof part === 'function' ? part(world) : part;
}
