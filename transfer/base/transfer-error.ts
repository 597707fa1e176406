/** Why a transfer ended without a stored file: a closed list, so that a caller can map each to an outcome of its own. */
export const TRANSFER_REASONS = [
  'address-rejected',
  'link-expired',
  'rate-limited',
  'source-unavailable',
  'incomplete',
  'stalled',
  'too-large',
  'refused',
  'store-unavailable',
  'store-denied',
  'conflict',
] as const;

export type TransferReason = (typeof TRANSFER_REASONS)[number];

export interface TransferErrorOptions extends ErrorOptions {
  /** What the other side asked for, in seconds. */
  retryAfterSeconds?: number | undefined;
}

/** The one error that the transfer throws. Its message holds no address, no query and no byte of a body. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  readonly reason: TransferReason;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: TransferReason, message: string, { retryAfterSeconds, ...options }: TransferErrorOptions = {}) {
    super(message, options);
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
