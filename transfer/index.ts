/**
 * Moves a file of any size from an address on the web to a bucket of Amazon S3, in little memory, and never stores a file that
 * is incomplete (docs/design/transfer-engine.md). The first response of the origin is the first piece of the file, and decides
 * the strategy:
 *
 * ```text
 *                        ┌ up to 16 MiB, length known ──── small ──── one PutObject
 *  GET bytes=0-16 MiB ───┼ ranges and a strong ETag ────── ranged ─┐
 *  (no HEAD)             └ anything else ───────────────── single ─┴─ parts, then one Complete
 *
 *  ranged   GET ══part══part══part══▶      n long GETs, If-Match; an idle connection takes half of the longest remaining
 *           GET ══part══part══part══▶      segment; each byte is checksummed (CRC-32) and sent on at once
 *  single   GET ══part══part══part══▶ …    read from the start again after a break: known bytes are skipped and must have
 *                                          the same checksum; of unknown length, parts are buffered in memory first
 * ```
 *
 * A transfer ends in one of three ways, or starts over:
 *
 * ```text
 *  begun ──▶ moving ──▶ all parts stored ──▶ checked ──▶ Complete ──▶ Stored
 *    ▲         │ │                                          │
 *    │         │ └─ time is up ──────▶ Unfinished (resume)  └─ response lost: does it exist with our size and checksum?
 *    └─────────┤
 *  file changed, upload gone                 └─ TransferError (`reason`), the upload stays open: continue the one that
 *                                               the observer was given last, or abort it with `abortUpload`
 * ```
 *
 * Every wait has a limit (`base/limits.ts`), every failure a retry budget (`base/retry.ts`). No value import of `node:http`, no
 * `fetch`: they cost start time (figures in docs/adr/0014).
 */
export { crc32Text } from './base/crc32.ts';
export { RetryableError, TransferError, type TransferReason } from './base/errors.ts';
export { LIMITS } from './base/limits.ts';
export { type RequestContext, withRetries } from './base/retry.ts';
export { retryAfterSeconds } from './base/retry-after.ts';
export type { FileHead, NamedObject, Stored, StoreOptions, TransferOptions } from './base/types.ts';
export { HOST_PATTERN, isAllowedHost, printableHost } from './source/guard.ts';
export { type Looked, lookAtFile } from './source/look.ts';
export { readResponse, StoreClient } from './store/client.ts';
export { refusedBy } from './store/errors.ts';
export { abortUpload, transfer } from './transfer.ts';
