import type { IncomingHttpHeaders } from 'node:http';

/** The supported calls, with their names in S3's documentation. */
export type Operation =
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'PutObjectTagging'
  | 'ListParts'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'PutObject'
  | 'HeadObject'
  | 'GetObject'
  | 'ListObjectsV2'
  | 'DeleteObject';

/** One call, as the fault script receives it before the store reads or does anything. */
interface StoreRequest {
  operation: Operation;
  key: string;
  partNumber: number | undefined;
  /** The number of the attempt, from 1, per operation, key and part number. */
  attempt: number;
  number: number;
  headers: IncomingHttpHeaders;
}

export type Fault =
  /** This answer after the body was read; the call is not carried out. */
  | { status: number; code: string; headers?: Record<string, string> }
  /** `CompleteMultipartUpload`: 200 with this error code in the body; the call is not carried out. */
  | { errorIn200: string }
  /** This text with 200 in place of the answer of S3; the call is not carried out. */
  | { page: string }
  /** Declares the whole answer and closes the connection after that many bytes of its body. */
  | { breakAfter: number }
  /** Resets the connection after that many bytes of the body. */
  | { resetAfter: number }
  /** A correct answer once this promise is settled. */
  | { waitFor: Promise<unknown> }
  /** A correct answer, but reading the body pauses again and again. */
  | { pausesEvery: number; pauseMs: number }
  /** Resets the connection before the body is read. */
  | 'reset'
  /** Neither reads the body nor answers. */
  | 'stall'
  /** Carries the call out, then resets the connection instead of answering. */
  | 'lostAnswer'
  /** Carries the call out and does not answer. */
  | 'stallAnswer'
  /** 409 ConditionalRequestConflict. As on AWS, this upload can never complete. */
  | 'conflict409'
  /** Carries the call out, but answers 404 NoSuchUpload, as for a repeated Complete. */
  | 'noSuchUploadAfterSuccess'
  /** Flips one bit of the body after all checks that the client can observe. */
  | 'corrupt';

/** Chooses the fault of every call; undefined = no fault. */
export type FaultScript = (request: StoreRequest) => Fault | undefined;

/** An error response of S3. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** Error responses of S3, by S3's codes. */
export const TROUBLE = {
  slowDown: { status: 503, code: 'SlowDown' },
  internalError: { status: 500, code: 'InternalError' },
  accessDenied: { status: 403, code: 'AccessDenied' },
  kmsDisabled: { status: 400, code: 'KMS.DisabledException' },
  noSuchBucket: { status: 404, code: 'NoSuchBucket' },
} as const satisfies Record<string, Fault>;

/** The only bucket of a store, its region, and the credentials that it accepts. */
export const BUCKET = 'exports';
export const REGION = 'eu-west-1';
export const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/** Properties in which stores differ. The defaults are those of AWS. */
export interface StoreOptions {
  /** The minimum size of every part but the last; 5 MiB on AWS. */
  minPartBytes?: number;
  /** Parts in one page of ListParts; 1000 on AWS. */
  pageSize?: number;
  /** The answer to Complete for a completed upload. No recording shows AWS's answer, and stores differ. */
  completeAgain?: 'NoSuchUpload' | 'PreconditionFailed' | 'ConditionalRequestConflict' | 'same answer';
  faults?: FaultScript;
}

export interface Call extends StoreRequest {
  /** 0 = there was no answer. */
  status: number;
  code: string | undefined;
  /** The number of its connection, from 1. */
  connection: number;
}

export interface StoredObject {
  body: Buffer;
  etag: string;
  /** Base64 of the whole object's CRC32; undefined after a composite upload. */
  crc32: string | undefined;
  /** Content-Type, Content-Encoding, Content-Disposition, Cache-Control and x-amz-meta-*. */
  headers: Record<string, string>;
  /** When it was stored. */
  at: Date;
}

export interface StoredPart {
  body: Buffer;
  etag: string;
  crc32: number;
}

export interface OpenUpload {
  id: string;
  key: string;
  checksum: 'FULL_OBJECT' | 'COMPOSITE' | undefined;
  headers: Record<string, string>;
  parts: Map<number, StoredPart>;
  /** Whether the upload met a conflict and can never complete. */
  dead: boolean;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A call with its checked and decoded content. */
export interface Work {
  request: StoreRequest;
  query: URLSearchParams;
  body: Buffer;
  /** Base64, from the header or the trailer; undefined = none was sent. */
  sentCrc32: string | undefined;
}

export interface Contents {
  objects: Map<string, StoredObject>;
  uploads: Map<string, OpenUpload>;
  /** Upload -> the answer with which it was completed. */
  completed: Map<string, Answer>;
}

export type Settings = Required<StoreOptions>;
