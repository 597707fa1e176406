import type { Answers } from './answers.ts';

/** What the parts of a cloud share. */
export interface World {
  /** Of the bucket, by key. */
  objects: Map<string, Buffer>;
  /** Of objects, by key. */
  metadata: Map<string, Record<string, string>>;
  /** Inputs of the executions that were started. */
  started: object[];
}

export type Part = Answers | ((world: World) => Answers);
