import type { Entity } from '../config/entities.ts';

/** In every line of an invocation. */
export interface RunFields {
  entity?: Entity | undefined;
  execution?: string | undefined;
  exportId?: string | undefined;
  /** Of customer updates. */
  batch?: string | undefined;
  chunk?: number | undefined;
}

/** All fields of log lines. No bodies, URLs or tokens. */
export interface LogFields extends RunFields {
  /** Of a chunk that have a result now, or of a batch. */
  lines?: number;
  outcome?: string;
  /** Name of an error. */
  error?: string | undefined;
  waitSeconds?: number;
  method?: string;
  /** A path of the interface document, ids as `{id}`. */
  path?: string;
  status?: number;
  milliseconds?: number;
  key?: string;
  crmRequests?: number;
  fileRequests?: number;
  storeRequests?: number;
  bytes?: number;
  totalBytes?: number | null;
  rows?: number | null;
  /** Whether `latest.json` names this run now. */
  latest?: boolean;
  /** Number of warnings in the manifest. */
  warnings?: number;
  /** Of an answer of the token endpoint, in words of our own. */
  oddities?: string[];
  requestId?: string;
  /** Name of a crash and its frames: a message may quote data. */
  crash?: string;
  frames?: string[];
}

/** For the run time; the compiler keeps the two lists equal. */
const LISTED: Record<keyof LogFields, true> = {
  ...{ entity: true, execution: true, exportId: true, batch: true, chunk: true },
  ...{ lines: true, outcome: true, error: true, waitSeconds: true },
  ...{ method: true, path: true, status: true, milliseconds: true, key: true },
  ...{ crmRequests: true, fileRequests: true, storeRequests: true },
  ...{ bytes: true, totalBytes: true, rows: true, latest: true, warnings: true, oddities: true },
  ...{ requestId: true, crash: true, frames: true },
};

const LONGEST_TEXT = 1000;

/** Leaves out what a cast or a library added. */
export function onlyListed(fields: object): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([name]) => Object.hasOwn(LISTED, name));
  return Object.fromEntries(entries.map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (typeof value === 'string') return shortText(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string').map(shortText) : undefined;
}

/** Without the query of an address, where signatures and tokens are. */
export function shortText(text: string): string {
  return text.replace(/(\bhttps?:\/\/[^\s?#]*)[?#]\S*/gi, '$1').slice(0, LONGEST_TEXT);
}
