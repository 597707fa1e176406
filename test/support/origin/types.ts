import type { IncomingHttpHeaders } from 'node:http';

/** One request for a file, as its script sees it. */
export interface OriginRequest {
  /** 1-based, per file. */
  number: number;
  method: string;
  /** The Range header; undefined = none. */
  range: string | undefined;
  /** The first byte that is requested; 0 without a range. */
  offset: number;
  headers: IncomingHttpHeaders;
}

/** What the origin does to one request; all of it together, and nothing = a right answer. */
export interface Behaviour {
  /** The connection is reset without a word. */
  reset?: boolean;
  /** The first byte of the answer waits for this. */
  waitFor?: Promise<unknown>;
  /** The first byte of the answer comes that much later. */
  delayMs?: number;

  /** A whole answer instead of the file: its status. */
  status?: number;
  /** Headers added to those of the answer; '' takes one away. */
  headers?: Record<string, string>;
  /** This body instead of the file, whatever was requested; 200 unless `status` says otherwise. */
  body?: string | Uint8Array;
  /** 302 to this address. */
  redirect?: string;

  /** How the end of the body is known; `length` unless said. */
  framing?: 'length' | 'chunked' | 'close';
  /** Added to the true Content-Length; the body itself stays as it is, and the connection is closed after it. */
  addToLength?: number;
  /** How many bytes more than the range holds come behind the declared length. */
  extraBytes?: number;
  /** The connection is reset after that many bytes of the body. */
  cutAfter?: number;
  /** The connection is closed in good order after that many bytes of the body, whatever was declared. */
  endAfter?: number;
  /** No more comes after that many bytes of the body, and the connection stays open. */
  stallAfter?: number;
  bytesPerSecond?: number;
  /** The body is sent in pieces of at most that many bytes; with `chunked` each is a chunk of its own. */
  pieceBytes?: number;
  /** The body is compressed though nobody asked, and says so. No Range. */
  gzip?: boolean;

  /** The bytes of another file of the same size; its ETag stays the old one unless `etag` is given. */
  seed?: number;
  /** The ETag with its quotes; null = none. */
  etag?: string | null;
  /** Answers with the whole file although a part was requested. */
  ignoreRange?: boolean;
  /** Instead of the true Content-Range. */
  contentRange?: string;
}

export type OriginScript = (request: OriginRequest) => Behaviour | undefined;

export interface FileOptions {
  /** Bytes. */
  size: number;
  /** Files of different seeds differ from their first line on. */
  seed?: number;
  /** The ETag with its quotes; a strong one of its own unless given. null = none. */
  etag?: string | null;
  contentType?: string;
  script?: OriginScript;
}

/** One request in a file's ledger. */
export interface ServedRequest extends OriginRequest {
  path: string;
  /** Which connection it came on, from 1. */
  connection: number;
  /** 0 = there was no answer. */
  status: number;
  /** Bytes of the body that were handed to the connection, as they are on the wire but without the framing of chunks. */
  bytesSent: number;
}
