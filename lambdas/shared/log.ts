import { Logger } from '@aws-lambda-powertools/logger';
import type { Entity } from './entities.ts';
import type { ErrorName } from './errors.ts';
import { originalFrames } from './original-frames.ts';

/** Everything that a log line may say: a field that is not listed here does not compile. No bodies, URLs or tokens. */
export interface LogFields {
  entity?: Entity | undefined;
  execution?: string | undefined;
  exportId?: string | undefined;
  /** Name of a batch of customer updates, and one of its chunks. */
  batch?: string | undefined;
  chunk?: number | undefined;
  /** Lines of a chunk that have a result now, or of a batch. */
  lines?: number;
  outcome?: string;
  error?: ErrorName | undefined;
  waitSeconds?: number;
  method?: string;
  /** A path of the interface document, ids as `{id}`. */
  path?: string;
  status?: number;
  milliseconds?: number;
  key?: string;
  /** Requests of one invocation: to the service, for the file, and to the bucket. */
  crmRequests?: number;
  fileRequests?: number;
  storeRequests?: number;
  bytes?: number;
  /** Size of the whole file, where it is known beforehand. */
  totalBytes?: number | null;
  rows?: number | null;
  /** Whether `latest.json` names this run now; not so when an older date was exported anew. */
  latest?: boolean;
  /** How many sentences stand in the warnings of the manifest. */
  warnings?: number;
  /** What is unusual about an answer of the token endpoint, in words of our own. */
  oddities?: string[];
  requestId?: string;
  /** Name of a crash and where it happened: frames only, for a message may quote data. */
  crash?: string;
  frames?: string[];
}

/** Structured log of one function: one line per boundary that is crossed. */
export interface Log {
  info(message: string, fields: LogFields): void;
  error(message: string, fields: LogFields): void;
}

export function createLog(step: string): Log {
  const logger = new Logger({ serviceName: step });
  return {
    info: (message, fields) => logger.info(message, { ...fields }),
    error: (message, fields) => {
      logger.error(message, { ...fields, ...(fields.frames && { frames: originalFrames(fields.frames) }) });
    },
  };
}
