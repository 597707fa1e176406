/** Why a transfer ended without a stored file: a closed list, so that a caller can map each reason to an error of its own. */
export const TRANSFER_REASONS = [
  'address-rejected',
  'link-expired',
  'rate-limited',
  'source-unavailable',
  // The fetched bytes are useless: the file at the origin has changed, or the upload no longer exists.
  'changed',
  'incomplete',
  'stalled',
  'too-large',
  'refused',
  'store-unavailable',
  'store-denied',
  'conflict',
] as const;

export type TransferReason = (typeof TRANSFER_REASONS)[number];

interface Details extends ErrorOptions {
  /** The wait that the other side requested with Retry-After. */
  retryAfterSeconds?: number | undefined;
  /** The setting that allows a rejected address. */
  setting?: 'crm.fileHosts' | 'crm.privateHosts' | undefined;
}

/** The only error that leaves the engine. Its message holds no address, no query and no byte of a body. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  readonly reason: TransferReason;
  readonly retryAfterSeconds: Details['retryAfterSeconds'];
  readonly setting: Details['setting'];

  constructor(reason: TransferReason, message: string, { retryAfterSeconds, setting, ...options }: Details = {}) {
    super(message, options);
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
    this.setting = setting;
  }
}

/** A failure that another attempt may fix. Once its budget is used up it becomes a plain `TransferError`. */
export class RetryableError extends TransferError {}
