import type { Entity } from '../../core/config/entities.ts';

type PerEntity = number | Partial<Record<Entity, number>>;

/** How the sandbox behaves. Handlers read it on every call, so that a test may change it while the server runs. */
export interface Settings {
  clientId: string;
  clientSecret: string;
  /** Ways in which a client may authenticate at the token endpoint. */
  clientAuthentication: ('basic' | 'basic_raw' | 'post' | 'none')[];
  accessTokenSeconds: number;
  /** `strict`: reuse of a refresh token revokes its whole grant; `none`: the same refresh token stays valid. */
  rotation: 'strict' | 'none' | { graceSeconds: number };
  /** The status read that answers PROCESSED for the first time; 0 = processed at once. */
  jobChecks: number;
  /** If set, replaces `jobChecks`: an export is PROCESSED that many seconds after it was created. */
  jobSeconds: number | null;
  /** Lifetime of a file URL. */
  urlSeconds: number;
  /** Records of an entity (at most 100 000; entities not named keep the default). */
  rows: PerEntity;
  /** If set for an entity, its file has about this many bytes and is generated while it is sent. */
  bytes: PerEntity | null;
  /** A text in every field of every record, in every error body and in every URL signature; '' = none. */
  canary: string;
  /** `errors`: the id beside errors; `refusal`: errors alone. */
  createAnswer: 'id' | 'uuid' | 'exportId' | 'data' | 'string' | 'jobId' | 'nested' | 'errors' | 'refusal';
  /** How many exports may be under way at once; more are refused with that status. */
  exportsAtOnce: { most: number; status: 409 | 423 } | null;
  /** New UUIDs, numbers, or one UUID for all exports of an entity: a new one takes the place of the one before. */
  exportIds: 'uuids' | 'numbers' | 'perEntity';
  /**
   * A list bare or under a key; of names alone, an object by name, or with `name` in place of `fieldName`; `renamed`: with
   * `fieldLabel` and `fieldType`; `plain`: without labels and types.
   */
  fieldsShape: 'array' | 'data' | 'fields' | 'items' | 'names' | 'byName' | 'name' | 'renamed' | 'plain';
  /** The export record: bare, wrapped in `data`, with a field \`data\` of its own, or with its id under another name. */
  recordShape: 'bare' | 'wrapped' | 'withData' | 'uuid' | 'exportId' | 'inExport' | 'otherId';
  /** The words of the document, in lower case, or others: NEW, RUNNING, COMPLETED. */
  statusWords: 'document' | 'lower' | 'others';
  /** `null` and `empty`: no address. */
  linkAnswer: 'url' | 'data' | 'downloadUrl' | 'relative' | 'null' | 'empty';
  /** Host name of file URLs; '' = the one of the request. */
  linkHost: string;
  /** How a file URL says how long it lives: in `expires`, as S3 does, or not at all. */
  linkLife: 'expires' | 'amazon' | 'hidden';
  /** How many GETs a file URL answers; null = any number. */
  linkUses: number | null;
  /** HTTP status of good answers, where it is not the usual one. */
  goodStatus: { create?: 200 | 202; status?: 202; download?: 201 };
  /** Further headers of every answer of the interface. */
  headers: Record<string, string>;
  errorBody: 'object' | 'list' | 'code' | 'text' | 'html' | 'nothing';
  /** How the token endpoint refuses a code or a refresh token; null = 400 with `invalid_grant`. */
  tokenRefusal: { status: number; body: unknown } | null;
  /** The scope that the export operations require. */
  exportScope: string;
  /**
   * `before`: the record as it was; `other`: that of another customer; `masked`: texts without their beginning; `errors`: the
   * record beside errors; `refusal`: errors alone, and nothing is changed.
   */
  updateAnswer: 'record' | 'array' | 'text' | 'nothing' | 'before' | 'other' | 'masked' | 'errors' | 'refusal';
  /** Whether the file endpoint supports Range. */
  range: boolean;
  /** How an empty file is answered to Range: 206 with `bytes 0--1/0`, 416 without Content-Range; null = 416 with it. */
  emptyRange: 200 | 204 | 206 | 416 | null;
}

export type SandboxOptions = { [K in keyof Settings]?: Settings[K] | undefined } & {
  /** Port on 127.0.0.1; 0 = any free one. */
  port?: number | undefined;
};

const DEFAULT_ROWS = 240;

const DEFAULTS: Settings = {
  clientId: 'sandbox-client',
  clientSecret: 'sandbox-demo-value-not-a-secret',
  clientAuthentication: ['basic', 'post'],
  accessTokenSeconds: 3600,
  rotation: 'strict',
  jobChecks: 3,
  jobSeconds: null,
  urlSeconds: 300,
  rows: DEFAULT_ROWS,
  bytes: null,
  canary: '',
  createAnswer: 'id',
  exportsAtOnce: null,
  fieldsShape: 'array',
  recordShape: 'bare',
  exportIds: 'uuids',
  statusWords: 'document',
  linkAnswer: 'url',
  linkHost: '',
  linkLife: 'expires',
  linkUses: null,
  goodStatus: {},
  headers: {},
  errorBody: 'object',
  tokenRefusal: null,
  exportScope: 'global:export',
  updateAnswer: 'record',
  range: true,
  emptyRange: null,
};

/** The settings that the options ask for, completed by the defaults. */
export function resolveSettings({ port: _port, ...options }: SandboxOptions): Settings {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** Number of records of an entity. */
export function rowsOf(settings: Settings, entity: Entity): number {
  return typeof settings.rows === 'number' ? settings.rows : (settings.rows[entity] ?? DEFAULT_ROWS);
}

/** The size in bytes that the entity's file should have, or null where the records decide. */
export function bytesOf(settings: Settings, entity: Entity): number | null {
  return typeof settings.bytes === 'number' ? settings.bytes : (settings.bytes?.[entity] ?? null);
}
