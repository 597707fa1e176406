import type { Limits } from './limits.ts';

/** Which addresses files may come from. */
export interface SourcePolicy {
  /** Exact host names. A name with a leading dot stands for every name below it. */
  hosts: readonly string[];
  /** Full names of those `hosts` that may resolve to an address in the private network. Default: no host. */
  privateHosts?: readonly string[];
  /** Whether loopback is also allowed, on http and on any port. */
  local: boolean;
}

/** Values that the headers of the origin declare. */
export interface FileHead {
  /** Bytes of the whole file; `null` when not declared. */
  length: number | null;
  contentType: string;
}

/** The object to write. */
export interface NamedObject {
  key: string;
  contentType: string;
}

/** An open upload: all data that another process needs to continue it. Under 1 KB as JSON, no secret. */
export interface Resume extends NamedObject {
  uploadId: string;
  /** Strong ETag of the file at its origin. `null` if it has none; the engine then reads the file in one piece. */
  etag: string | null;
  /** Size of the file in bytes; `null` if it is unknown until the end of the file. */
  size: number | null;
  /** Size of every part but the last. */
  partBytes: number;
}

export interface StoreOptions {
  bucket: string;
  region: string;
  /** The domain suffix of AWS in the bucket's partition; default `amazonaws.com`. */
  urlSuffix?: string | undefined;
  /** A store other than Amazon S3, for example `http://127.0.0.1:9000`. The bucket is then a part of the path. */
  endpoint?: string | undefined;
  credentials: () => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined }>;
  /** Whether the store checks the CRC-32 and the size of the whole object when an upload is completed, as Amazon S3 does. */
  objectChecksum: boolean;
}

/** Called during a transfer. An error that a callback throws ends the transfer. */
interface Observer {
  /** Reports the upload that is now open; `null` after it is completed or aborted. */
  upload: (resume: Resume | null) => void;
  /** Reports every request, including retries. */
  request: (side: 'source' | 'store') => void;
  /** Reports the bytes stored so far and the total (`null` if unknown). */
  progress: (bytes: number, total: number | null) => void;
}

export interface TransferOptions {
  /**
   * Returns the address of the file, which is a secret. Called again after the address has expired. An error that it
   * throws ends the transfer and reaches the caller, unless time is up.
   */
  address: () => Promise<string>;
  policy: SourcePolicy;
  /** Names the object from the headers and the first 1 KB. `refuse` says in a sentence why this is not the file. */
  nameObject: (head: FileHead, first: Uint8Array) => NamedObject | { refuse: string };
  store: StoreOptions;
  /** The upload of an earlier call, to continue. */
  resume?: Resume | null | undefined;
  /** Reads a new file with one GET at a time, because its ETag changed too often (several servers may differ). */
  inOnePiece?: boolean;
  /** The engine refuses a larger file. */
  maxBytes: number;
  /** Accepts a body whose end is marked only by the closing of its connection. */
  allowUndeclaredEnd: boolean;
  /** Connections to the origin. If it refuses some of them as too many, the engine uses fewer. */
  connections: number;
  /** Seconds until this process ends. The transfer returns earlier. */
  secondsLeft: () => number;
  observer?: Partial<Observer>;
  limits?: Partial<Limits>;
  /** A number in [0, 1), drawn at random. */
  random?: () => number;
}

/** Length and CRC-32 of all bytes of an object. */
export interface Measured {
  bytes: number;
  crc32: number;
}

/** A part that the store holds. */
export interface StoredPart extends Measured {
  number: number;
  etag: string;
}

export interface Stored extends NamedObject, Measured {
  /** Whether only the closing of the connection marked the end of the file. */
  undeclaredEnd: boolean;
}
