import type { IncomingHttpHeaders } from 'node:http';

/** One request for a file, as its script receives it. */
export interface OriginRequest {
  /** The number of the request, from 1, per file. */
  number: number;
  method: string;
  /** The Range header; undefined = none. */
  range: string | undefined;
  /** The first byte that is requested; 0 without a range. */
  offset: number;
  headers: IncomingHttpHeaders;
}

/** The faults of one request, combined. Without any, the answer is correct. */
export interface Behaviour {
  /** Resets the connection without an answer. */
  reset?: boolean;
  /** The first byte of the answer waits for this promise. */
  waitFor?: Promise<unknown>;
  /** Delays the first byte of the answer by this time. */
  delayMs?: number;

  /** The status of an answer that replaces the file. */
  status?: number;
  /** Headers to add to the answer; '' removes one. */
  headers?: Record<string, string>;
  /** A body that replaces the file, whatever was requested; the status is 200 unless `status` is set. */
  body?: string | Uint8Array;

  /** How the end of the body is marked. Default: `length`. */
  framing?: 'length' | 'chunked' | 'close';
  /** A number to add to the true Content-Length. The body is unchanged, and the connection is closed after it. */
  addToLength?: number;
  /** The number of surplus bytes after the declared length. */
  extraBytes?: number;
  /** Resets the connection after that many bytes of the body. */
  cutAfter?: number;
  /** Closes the connection in order after that many bytes of the body, whatever was declared. */
  endAfter?: number;
  /** Stops after that many bytes of the body and leaves the connection open. */
  stallAfter?: number;
  bytesPerSecond?: number;
  /** Sends the body in pieces of at most that many bytes; with `chunked`, each piece is one chunk. */
  pieceBytes?: number;

  /** Sends the bytes of another file of the same size. Its ETag stays the old one unless `etag` is set. */
  seed?: number;
  /** The ETag with its quotes; null = none. */
  etag?: string | null;
  /** Answers with the whole file although a part was requested. */
  ignoreRange?: boolean;
  contentRange?: string;
}

export type OriginScript = (request: OriginRequest) => Behaviour | undefined;

export interface FileOptions {
  size: number;
  /** Files of different seeds differ from their first line on. */
  seed?: number;
  /** The ETag with its quotes; null = none. Default: a strong one for each file. */
  etag?: string | null;
  contentType?: string;
  script?: OriginScript;
}

/** One request in a file's ledger. */
export interface ServedRequest extends OriginRequest {
  path: string;
  /** The number of its connection, from 1. */
  connection: number;
  /** 0 = there was no answer. */
  status: number;
  /** Bytes of the body that were written to the connection, without chunk framing. */
  bytesSent: number;
}
