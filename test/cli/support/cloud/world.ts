import type { Answers } from './answers.ts';

/** What the parts of a cloud share. */
export interface World {
  /** The objects of the bucket, by key. */
  objects: Map<string, Buffer>;
  /** The metadata of objects, by key. */
  metadata: Map<string, Record<string, string>>;
  /** The tags of objects that were stored elsewhere first, by key; of the others they are the MD5. */
  etags: Map<string, string>;
  /** When objects were written, by key (ISO 8601); of the others it is now. */
  written: Map<string, string>;
  /** Inputs of the executions that were started. */
  started: object[];
}

export type Part = Answers | ((world: World) => Answers);

export function newWorld(): World {
  return { objects: new Map(), metadata: new Map(), etags: new Map(), written: new Map(), started: [] };
}

export function answersOf(part: Part, world: World): Answers {
  return typeof part === 'function' ? part(world) : part;
}
