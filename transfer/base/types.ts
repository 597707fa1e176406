import type { Limits } from './limits.ts';

/** Which addresses files may come from. */
export interface SourcePolicy {
  /** Hosts: exact names, or every name below one with a leading dot. */
  hosts: readonly string[];
  /** Those of them, by their whole names, that may be in the network of the process; none where it is not said. */
  privateHosts?: readonly string[];
  /** Whether loopback is allowed as well, on http and on any port. */
  local: boolean;
}

/** What the headers of the origin declare. */
export interface FileHead {
  /** Bytes of the whole file; `null` when not declared. */
  length: number | null;
  contentType: string;
  disposition: string;
  contentEncoding: string;
}

/** The object to make. */
export interface NamedObject {
  key: string;
  contentType: string;
}

/** An open upload: everything that another process needs to continue it. Less than 1 KB as JSON, no secret. */
export interface Resume extends NamedObject {
  uploadId: string;
  /** Strong ETag of the file at its origin; `null` where it has none, and the file is read in one piece. */
  etag: string | null;
  /** Size of the file in bytes; `null` when it is not known before its end. */
  size: number | null;
  /** Size of every part but the last. */
  partBytes: number;
}

export interface StoreOptions {
  bucket: string;
  region: string;
  /** What the host names of AWS end in where the bucket is; default `amazonaws.com`. */
  urlSuffix?: string | undefined;
  /** Another store than Amazon S3, for example `http://127.0.0.1:9000`; the bucket is then a part of the path. */
  endpoint?: string | undefined;
  credentials: () => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined }>;
  /** Whether the store checks the CRC-32 and the size of the whole object when an upload is completed, as Amazon S3 does. */
  objectChecksum: boolean;
}

/** Called while a transfer is under way. What a callback throws ends the transfer. */
interface Observer {
  /** The upload that is open from now on; `null` when it is completed or aborted. */
  upload: (resume: Resume | null) => void;
  /** The file has changed, or the upload is gone: everything starts over. */
  restarted: () => void;
  /** Every request that is sent, retries included. */
  request: (side: 'source' | 'store') => void;
  /** Bytes stored so far, of how many (`null` = not known yet). */
  progress: (bytes: number, total: number | null) => void;
}

export interface TransferOptions {
  /**
   * Requests the address of the file, a secret; called again when the address has expired. What it throws ends the transfer and
   * passes through, unless time is up.
   */
  address: () => Promise<string>;
  policy: SourcePolicy;
  /** Names the object from the headers and the first 1 KB (or all of a shorter file); `refuse` (a sentence) when this is not the file. */
  nameObject: (head: FileHead, first: Uint8Array) => NamedObject | { refuse: string };
  store: StoreOptions;
  /** An upload of an earlier call, to continue. */
  resume?: Resume | null | undefined;
  /** A larger file is refused. */
  maxBytes: number;
  /** Accepts a body whose end is marked by nothing but the closing of its connection. */
  allowUndeclaredEnd: boolean;
  /** Connections to the origin: how many at first, how many at most, and the total rate from which more are useless. */
  connections: { initial: number; most: number; enoughBytesPerSecond?: number };
  /** Seconds until this process is ended. The transfer returns before. */
  secondsLeft: () => number;
  observer?: Partial<Observer>;
  limits?: Partial<Limits>;
  /** A number in [0, 1), drawn at random. */
  random?: () => number;
}

export interface Stored extends NamedObject {
  done: true;
  bytes: number;
  /** The CRC-32 of all bytes. */
  crc32: number;
  strategy: 'small' | 'ranged' | 'single';
  /** The end of the file was marked by nothing but the closing of the connection. */
  undeclaredEnd: boolean;
}

/** Time was up: call `transfer` again with `resume`. */
export interface Unfinished {
  done: false;
  resume: Resume | null;
}
