import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Records } from '../data/records.ts';
import type { Clock } from './clock.ts';
import type { Faults, Hit } from './faults.ts';
import type { Grants } from './grants.ts';
import type { Jobs } from './jobs.ts';
import type { Ledger, LedgerCall } from './ledger.ts';
import type { Settings } from './settings.ts';

/** Everything that one running sandbox consists of. */
export interface World {
  settings: Settings;
  clock: Clock;
  faults: Faults;
  ledger: Ledger;
  grants: Grants;
  jobs: Jobs;
  records: Records;
  /** Signs file URLs; random for each start. */
  fileKey: Uint8Array;
  /** Aborted when the sandbox closes, so that delayed answers do not hold it. */
  closing: AbortSignal;
}

/** What Hono carries for each call: the raw Node request and answer, the ledger entry and the faults that hit it. */
export interface SandboxEnv {
  Bindings: HttpBindings;
  Variables: { call: LedgerCall; hit: Hit };
}

export type SandboxApp = Hono<SandboxEnv>;
