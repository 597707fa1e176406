import { costOf } from '../support/process-cost.ts';

/** What a client written in Node.js is to do, in its environment as JSON. */
export interface Job {
  source: string;
  store: string;
  bucket: string;
  key: string;
  connections: { initial: number; most: number };
  /** Everything is loaded that the function has loaded when it moves a file. */
  loaded: boolean;
}

/** What is read for the check, and from where. */
export interface CheckPassJob {
  endpoint: string;
  key: string;
  bytes: number;
}

/** Reports what the transfer alone took, from the moment that the address was known. */
export async function measured(transfer: () => Promise<unknown>): Promise<void> {
  process.stdout.write(`${JSON.stringify(await costOf(transfer))}\n`);
}
