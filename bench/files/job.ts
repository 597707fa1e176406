import { costOf } from '../support/process-cost.ts';

/** What a client written in Node.js is to do, in its environment as JSON. */
export interface Job {
  source: string;
  store: string;
  bucket: string;
  key: string;
  connections: { initial: number; most: number };
  /** With everything loaded that the function has loaded by then. */
  loaded: boolean;
}

/** What is read for the check, and from where. */
export interface CheckJob {
  endpoint: string;
  key: string;
  bytes: number;
}

/** Reports what the transfer alone took, from the moment that the address was known. */
export async function measured(transfer: () => Promise<unknown>): Promise<void> {
  process.stdout.write(`${JSON.stringify(await costOf(transfer))}\n`);
}
