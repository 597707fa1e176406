import type { Entity } from '../core/config/entities.ts';
import type { CallKind } from './faults.ts';

type PerEntity = number | Partial<Record<Entity, number>>;

/** How the sandbox behaves. Handlers read it on every call, so that a test may change it while the server runs. */
export interface Settings {
  clientId: string;
  clientSecret: string;
  /** Ways in which a client may authenticate at the token endpoint. */
  clientAuthentication: ('basic' | 'basic_raw' | 'post' | 'none')[];
  accessTokenSeconds: number;
  /** The number of the status request that first returns PROCESSED; 0 = processed at once. */
  jobChecks: number;
  /** If set, replaces `jobChecks`: an export is PROCESSED that many seconds after it was created. */
  jobSeconds: number | null;
  /** Lifetime of a file URL. */
  urlSeconds: number;
  /** Number of records per entity (at most 100 000; other entities keep the default). */
  rows: PerEntity;
  /** If set for an entity, its file has about this many bytes and is generated while it is sent. */
  bytes: PerEntity | null;
  /** A text in every field of every record, every error body and every URL signature; '' = no canary. */
  canary: string;
  /** Rewrites a response of the interface: tests use the words and shapes of other CRMs. */
  rewrite: (answer: Response, kind: CallKind) => Response | Promise<Response>;
}

/** Settings other than the defaults. `port`: on 127.0.0.1; 0 = any free one. */
export type SandboxOptions = Partial<Settings> & { port?: number };

const DEFAULT_ROWS = 240;

export const DEFAULTS: Settings = {
  clientId: 'sandbox-client',
  clientSecret: 'sandbox-demo-value-not-a-secret',
  clientAuthentication: ['basic', 'post'],
  accessTokenSeconds: 3600,
  jobChecks: 3,
  jobSeconds: null,
  urlSeconds: 300,
  rows: DEFAULT_ROWS,
  bytes: null,
  canary: '',
  rewrite: (answer) => answer,
};

/** Number of records of an entity. */
export function rowsOf(settings: Settings, entity: Entity): number {
  return typeof settings.rows === 'number' ? settings.rows : (settings.rows[entity] ?? DEFAULT_ROWS);
}

/** The size in bytes that the entity's file should have, or null if the records decide. */
export function bytesOf(settings: Settings, entity: Entity): number | null {
  return typeof settings.bytes === 'number' ? settings.bytes : (settings.bytes?.[entity] ?? null);
}

/** The sandbox's own time. Moving it forward ages tokens, codes, URLs and jobs without waiting. */
export class Clock {
  #offset = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + this.#offset;
  }

  advance(seconds: number): void {
    this.#offset += seconds * 1000;
  }
}
