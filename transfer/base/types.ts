/** Which addresses files may come from. */
export interface SourcePolicy {
  /** Hosts that files may come from: exact names, or every name below one with a leading dot. */
  hosts: readonly string[];
  /** Whether loopback is allowed as well, on http and on any port. */
  local: boolean;
}

/** What the origin says of the file before any of its bytes. */
export interface FileHead {
  /** Size of the whole file in bytes; `null` when the origin does not say. */
  length: number | null;
  contentType: string;
  disposition: string;
  contentEncoding: string;
}

/** Where the file is to stand. */
export interface NamedObject {
  key: string;
  contentType: string;
}

/** An upload that is under way: everything that another process needs to go on with it. Less than 1 KB as JSON, no secret. */
export interface Resume extends NamedObject {
  uploadId: string;
  /** Strong ETag of the file at its origin; `null` where it has none, and the file is read in one piece. */
  etag: string | null;
  /** Size of the file in bytes; `null` when it is not known before its end. */
  size: number | null;
  /** Size of every part but the last. */
  partBytes: number;
}

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

export interface StoreOptions {
  bucket: string;
  region: string;
  /** What the hosts of AWS end in where the bucket is; default `amazonaws.com`. In China and elsewhere it is another. */
  urlSuffix?: string | undefined;
  /** Another store than Amazon S3, for example `http://127.0.0.1:9000`; the bucket is then a part of the path. */
  endpoint?: string | undefined;
  credentials: () => Promise<Credentials>;
  /**
   * How a part proves itself. `trailer`: its CRC-32 follows its bytes, which every store must check. `omitted`: none is sent,
   * the store computes it, and its answer, without which the part does not count, is compared; a little cheaper, where the
   * store allows it.
   */
  partChecksums: 'trailer' | 'omitted';
  /** Whether the store checks the CRC-32 and the size of the whole object when an upload is completed, as Amazon S3 does. */
  objectChecksum: boolean;
}

/** Told while a transfer is under way. What one of them throws ends the transfer. */
interface Observer {
  /** The upload that is open from now on; `null` when it is completed or given up. */
  upload: (resume: Resume | null) => void;
  /** The file was found changed, or the upload gone: everything begins anew. */
  restarted: () => void;
  /** Every request that is sent, repeated ones too: they are what a transfer costs beside its time. */
  request: (side: 'source' | 'store') => void;
  /** Bytes stored so far, of how many (`null` = not known yet). */
  progress: (bytes: number, total: number | null) => void;
}

/** Waits and sizes; a test scales them down. */
export interface Limits {
  connectMs: number;
  firstByteMs: number;
  /** The longest silence of a connection in the middle of a body. */
  idleMs: number;
  /** An origin that gives less than `floorBytesPerSecond` over this long counts as silent. */
  floorMs: number;
  floorBytesPerSecond: number;
  /** How long more bytes than were declared are waited for behind the end of a whole file. */
  surplusMs: number;
  /** The longest wait for the answer to Complete, which takes minutes for a huge object. */
  completeMs: number;
  /** Failures in a row before a transfer gives up. */
  attempts: number;
  firstBackoffMs: number;
  largestBackoffMs: number;
  /** A longer Retry-After is not waited for inside: the transfer ends, and says how long to wait. */
  longestWaitSeconds: number;
  /** Up to this size a file is kept in memory and stored in one call. */
  smallBytes: number;
  smallestPartBytes: number;
  largestPartBytes: number;
  /** Parts of a file of unknown size, which have to be kept in memory; they grow (`plan.ts`). */
  bufferedPartBytes: number;
  /** A file from this size on is not begun before its upload is on record: `transfer` returns as soon as it is created. */
  recordFromBytes: number;
  /** How long one measurement of the rate lasts before connections are added or taken away. */
  measureMs: number;
}

export interface TransferOptions {
  /**
   * Asks for the address of the file; called again when the address has expired. A secret: it is used and never told. What
   * it throws ends the transfer and passes through; what it answers or throws when time is up already is nobody's.
   */
  address: () => Promise<string>;
  policy: SourcePolicy;
  /**
   * Names the object, from what the origin says and the first bytes (1 KB, or all of a shorter file); `refuse` (a sentence)
   * when this is not the file.
   */
  nameObject: (head: FileHead, first: Uint8Array) => NamedObject | { refuse: string };
  store: StoreOptions;
  /** An upload of an earlier call, to go on with. */
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
  /** Draws in [0, 1). */
  random?: () => number;
}

export interface Stored extends NamedObject {
  done: true;
  bytes: number;
  /** CRC-32 of all bytes. */
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
