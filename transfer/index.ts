/**
 * Moves a file from an address on the web to a bucket of Amazon S3, of any size, in little memory, and never stores a file
 * that is not whole.
 *
 * ```ts
 * const result = await transfer({ address, policy, nameObject, store, resume: null, maxBytes, secondsLeft, … });
 * if (result.done) publish(result.key, result.bytes, result.crc32);
 * else remember(result.resume); // less than 1 KB; call `transfer` with it in the next process
 * ```
 *
 * The first answer of the origin is the first piece of the file, and decides the strategy:
 *
 * ```text
 *                        ┌ up to 16 MiB, length known ──── small ──── one PutObject
 *  GET bytes=0-16 MiB ───┼ ranges and a strong ETag ────── ranged ─┐
 *  (no HEAD)             └ anything else ───────────────── single ─┴─ parts, then one Complete
 *
 *  ranged   GET ══part══part══part══▶      n long GETs, If-Match; who is done takes half of the longest rest
 *           GET ══part══part══part══▶      each byte is measured (CRC-32) and written on at once, none is kept
 *  single   GET ══part══part══part══▶ …    read from the start again after a break: what is known is skipped and must
 *                                          have the same checksum; of unknown length, parts are gathered in memory first
 * ```
 *
 * A transfer ends in one of four ways:
 *
 * ```text
 *  begun ──▶ moving ──▶ all parts stored ──▶ checked ──▶ Complete ──▶ Stored
 *    ▲         │ │                                          │
 *    │         │ └─ time is up ──────▶ Unfinished (resume)  └─ answer lost: is it there, with our size and checksum?
 *    └─────────┤
 *  file changed, upload gone: start over     └─ TransferError (`reason` says which), the upload stays open: go on with
 *                                               the one that the observer was told last, or `abortUpload` it
 * ```
 *
 * What makes it safe, each with its tests beside it:
 * - One place completes an upload (`commit.ts`): after every part was answered with the checksum measured here, the parts
 *   are all there, and their bytes add up to the declared size. It sends size, checksum and `If-None-Match: *` along.
 * - Every byte is asked for at its offset and checked to be it: `Content-Range`, `If-Match`, declared length, surplus.
 * - The address is untrusted (`source/guard.ts`): scheme, host, every redirect, and what the name resolves to at the moment
 *   of the connection. No credentials go to the origin, and the address appears in no message.
 * - Every wait has an end, every failure a budget (`base/retry.ts`, `base/limits.ts`); the origin is read no faster than the store
 *   takes it.
 *
 * Depends on Node, `@smithy/signature-v4` (14 KB) and `ipaddr.js`, and on nothing else of this project. Two rules keep its
 * start cheap: no value import of `node:http`, no `fetch` (docs/adr/0014 has the figures).
 */
export { abortUpload } from './abort-upload.ts';
export { crc32Text } from './base/crc32.ts';
export { LIMITS } from './base/limits.ts';
export { type RequestContext, RetryableError, withRetries } from './base/retry.ts';
export { TransferError, type TransferReason } from './base/transfer-error.ts';
export type { FileHead, NamedObject, Stored, StoreOptions, TransferOptions } from './base/types.ts';
export { HOST_PATTERN } from './source/host-list.ts';
export { readResponse, StoreClient } from './store/client.ts';
export { refusedBy } from './store/refused-by.ts';
export { transfer } from './transfer.ts';
