import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Entity } from '../core/config/entities.ts';
import type { Records } from './data/records.ts';
import type { CallKind, Faults, Hit } from './faults.ts';
import type { Grants } from './oauth/grants.ts';
import type { Clock, Settings } from './sandbox-settings.ts';

/** Everything that one running sandbox consists of. */
export interface World {
  settings: Settings;
  clock: Clock;
  faults: Faults;
  ledger: ReturnType<typeof createLedger>;
  grants: Grants;
  jobs: ReturnType<typeof createJobs>;
  records: Records;
  /** The key that signs file URLs; random for each start. */
  fileKey: Uint8Array;
  /** Aborted when the sandbox closes, so that delayed answers do not hold it. */
  closing: AbortSignal;
}

/** A text with the canary of the settings, as every text of the CRM has it. */
export function marked({ settings }: Pick<World, 'settings'>, text: unknown): string {
  return settings.canary === '' ? String(text) : `${text} ${settings.canary}`.trimStart();
}

/** The context of each call in Hono: the raw Node request and answer, the ledger entry and the faults that hit it. */
export interface SandboxEnv {
  Bindings: HttpBindings;
  Variables: { call: LedgerCall; hit: Hit };
}

export type SandboxApp = Hono<SandboxEnv>;

/** The bytes of one file, readable from any offset without holding the file. */
export interface FileContent {
  size: number;
  /** A strong ETag, with its quotes. */
  etag: string;
  /** Yields the bytes from `from` up to, not including, `to`. */
  read: (from: number, to: number) => Generator<Buffer>;
}

type JobStatus = 'INITIATED' | 'PROCESSING' | 'PROCESSED';

/** One export record. */
export interface Job {
  id: string;
  entity: Entity;
  createdAt: number;
  /** How often the status was requested. */
  reads: number;
  content: FileContent;
}

/** The exports of this sandbox and their progress. */
export function createJobs(settings: Settings, clock: Clock) {
  const jobs = new Map<string, Job>();
  return {
    /** Creates an export with a random version 4 UUID. */
    create: (entity: Entity, content: FileContent): Job => {
      const job = { id: randomUUID(), entity, createdAt: clock.now(), reads: 0, content };
      jobs.set(job.id, job);
      return job;
    },
    /** The export, or undefined if the id is unknown or belongs to another entity. */
    find: (entity: Entity, id: string): Job | undefined => {
      const job = jobs.get(id.toLowerCase());
      return job?.entity === entity ? job : undefined;
    },
    /** The status of the export now. */
    statusOf: (job: Job): JobStatus => {
      const { jobChecks, jobSeconds } = settings;
      if (jobSeconds === null) return statusAfter(job.reads, jobChecks, 2);
      return statusAfter(clock.now() - job.createdAt, jobSeconds * 1000, (jobSeconds * 1000) / 3);
    },
  };
}

function statusAfter(done: number, needed: number, started: number): JobStatus {
  if (done >= needed) return 'PROCESSED';
  return done >= started ? 'PROCESSING' : 'INITIATED';
}

/** One call to the sandbox. Contains no token, secret or signature. */
export interface LedgerCall {
  seq: number;
  /** ISO 8601, by the sandbox's clock. */
  at: string;
  method: string;
  /** The path without the query. */
  path: string;
  kind: CallKind;
  entity?: Entity;
  exportId?: string;
  /** The HTTP status of the answer; null during the call and after a connection that was dropped without one. */
  status: number | null;
  /** Ids of the faults that hit this call. */
  faults: number[];
  /** An action that a correct client never does. */
  violation?: string;
  /** Create: the request body. */
  request?: unknown;
  /** The first 8 hex digits of the SHA-256 of the access token, refresh token or code in the request. */
  tokenFingerprint?: string;
  /** Token: the grant type, and whether a single-use value was used again. */
  grantType?: string;
  reuse?: boolean;
  /** Update: which customer, which fields, and whether the record was changed. */
  customerId?: string;
  fieldNames?: string[];
  applied?: boolean;
  /** File: the requested Range, the body bytes handed to the socket, and whether the body was sent to its end. */
  range?: string;
  bytes?: number;
  complete?: boolean;
}

type CallFilter = { kind?: CallKind | undefined; entity?: Entity | undefined };

/** All calls to the sandbox, in the order of arrival. */
export function createLedger(clock: Clock) {
  let all: LedgerCall[] = [];
  let seq = 0;
  /** The calls of that kind and entity, oldest first; all calls without a filter. */
  const calls = ({ kind, entity }: CallFilter = {}): LedgerCall[] =>
    all.filter(
      (call) => (kind === undefined || call.kind === kind) && (entity === undefined || call.entity === entity),
    );
  return {
    calls,
    count: (filter: CallFilter = {}): number => calls(filter).length,
    /** Records an arriving call. The caller completes the entry during the answer. */
    open: (call: Pick<LedgerCall, 'method' | 'path' | 'kind'> & Partial<LedgerCall>): LedgerCall => {
      seq += 1;
      const entry = { seq, at: new Date(clock.now()).toISOString(), status: null, faults: [], ...call };
      all.push(entry);
      return entry;
    },
    /** The calls that a correct client would not have made: reuse of tokens, credentials sent to the file server. */
    violations: (): LedgerCall[] => all.filter((call) => call.violation !== undefined),
    clear: (): void => {
      all = [];
    },
  };
}
