/** What a process of `bench:updates` is to do, in its environment as JSON. */
export interface ApplyJob {
  bucketUrl: string;
  baseUrl: string;
  accessToken: string;
  /** Keys of the batch to warm up with and of the one that is measured. */
  warmUp: PreparedBatch;
  measured: PreparedBatch;
}

/** A batch of one chunk whose input is in the bucket. */
export interface PreparedBatch {
  batch: string;
  bytes: number;
  records: number;
  etag: string;
}
