import type { IncomingHttpHeaders } from 'node:http';

/** The calls that the store knows, under their names in S3's documentation. */
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

/** One call, as the fault script sees it before anything is read or done. */
interface StoreRequest {
  operation: Operation;
  key: string;
  partNumber: number | undefined;
  /** 1-based; counted per operation, key and part number. */
  attempt: number;
  /** 1-based; counted over everything. */
  number: number;
  headers: IncomingHttpHeaders;
}

export interface Pauses {
  pausesEvery: number;
  pauseMs: number;
}

/** What goes wrong with one call. */
export type Fault =
  /** This answer, after the body was read and with nothing done. */
  | { status: number; code: string; headers?: Record<string, string> }
  /** `CompleteMultipartUpload`: 200, and this error code in the body; nothing is done. */
  | { errorIn200: string }
  /** The connection is reset after that many bytes of the body. */
  | { resetAfter: number }
  /** Everything as it should be, once this promise is settled. */
  | { waitFor: Promise<unknown> }
  /** Everything as it should be, but after so many bytes the body is not read for so long, again and again. */
  | Pauses
  /** The connection is reset before the body is read. */
  | 'reset'
  /** The body is not read and there is no answer. */
  | 'stall'
  /** Done, but the connection is reset instead of the answer. */
  | 'lostAnswer'
  /** Done, but there is no answer. */
  | 'stallAnswer'
  /** 409 ConditionalRequestConflict; as on AWS, this upload can never complete. */
  | 'conflict409'
  /** Done, but answered with 404 NoSuchUpload, as a repeated Complete is. */
  | 'noSuchUploadAfterSuccess'
  /** One bit of the body is flipped on the way, behind everything that the client can see. */
  | 'corrupt';

/** Decides about every call; undefined = nothing goes wrong. */
export type FaultScript = (request: StoreRequest) => Fault | undefined;

/** Answers of S3 in trouble, by the codes that S3 gives them. */
export const TROUBLE = {
  slowDown: { status: 503, code: 'SlowDown' },
  internalError: { status: 500, code: 'InternalError' },
  accessDenied: { status: 403, code: 'AccessDenied' },
  kmsDisabled: { status: 400, code: 'KMS.DisabledException' },
  noSuchBucket: { status: 404, code: 'NoSuchBucket' },
} as const satisfies Record<string, Fault>;

/** How this store is, where stores differ. The defaults are AWS. */
export interface StoreOptions {
  bucket?: string;
  region?: string;
  accessKeyId?: string;
  secretAccessKey?: string;
  /** The least size of every part but the last; 5 MiB on AWS. */
  minPartBytes?: number;
  /** Parts in one page of ListParts; 1000 on AWS. */
  pageSize?: number;
  /** `none`: a store that knows no checksums and refuses aws-chunked bodies with trailers. */
  checksums?: 'full-object' | 'none';
  /** Whether Complete must repeat the checksum of every part, as versitygw wants it. */
  partChecksumsAtComplete?: 'optional' | 'required';
  /** How an upload that was completed before is answered at Complete: no recording says it, and stores differ. */
  completeAgain?: 'NoSuchUpload' | 'PreconditionFailed' | 'ConditionalRequestConflict' | 'same answer';
  faults?: FaultScript;
}

/** One call in the store's ledger. */
export interface Call extends StoreRequest {
  /** Bytes of content, without the framing of aws-chunked. */
  bytes: number;
  /** 0 = there was no answer. */
  status: number;
  /** The error code of the answer. */
  code: string | undefined;
  /** Which connection it came on, from 1. */
  connection: number;
}

/** An object that is stored. */
export interface StoredObject {
  body: Buffer;
  etag: string;
  /** Base64, of the whole; `…-N` in a composite upload; undefined in a store without checksums. */
  crc32: string | undefined;
  checksumType: 'FULL_OBJECT' | 'COMPOSITE';
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
  /** The number of the call that made it: what was deleted after it is a conflict. */
  begun: number;
  checksum: 'FULL_OBJECT' | 'COMPOSITE' | undefined;
  headers: Record<string, string>;
  parts: Map<number, StoredPart>;
  /** It met a conflict and can never complete. */
  dead: boolean;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A call with everything that it brought, checked and decoded. */
export interface Work {
  request: StoreRequest;
  query: URLSearchParams;
  body: Buffer;
  /** Base64, from the header or the trailer; undefined = none was sent. */
  sentCrc32: string | undefined;
}

/** The contents of a store. */
export interface Contents {
  objects: Map<string, StoredObject>;
  uploads: Map<string, OpenUpload>;
  /** Key -> number of the call that deleted it last. */
  deleted: Map<string, number>;
  /** Upload -> the answer with which it was completed. */
  completed: Map<string, Answer>;
}

export type Settings = Required<StoreOptions>;
