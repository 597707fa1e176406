import type { IncomingMessage } from 'node:http';
import type { TransferReason } from '../base/transfer-errors.ts';

/** The bytes from `from` up to, not including, `to`. */
export interface Range {
  from: number;
  to: number;
}

/** One GET of the file and its response. */
interface Exchange {
  status: number;
  headers: IncomingMessage['headers'];
  /** The requested range; `undefined` = a GET without Range. */
  range: Range | undefined;
  /** The ETag that the file must still have; `null` for the first GET. */
  etag: string | null;
}

/** Why an answer is not the file. `another range`: its bytes would land in the wrong place. */
export type Refusal =
  | Extract<TransferReason, 'changed' | 'rate-limited' | 'source-unavailable' | 'incomplete' | 'link-expired'>
  | 'another range';

/**
 * `file`: its bytes follow. `empty`: it has no bytes. `ask whole`: the answer to a range holds no byte, or no size of the
 * file, or refuses the range, so a GET without Range decides.
 */
type Meaning = 'file' | 'empty' | 'ask whole' | Refusal;

type Row = [when: (exchange: Exchange) => boolean, means: Meaning];

/** Servers answer a range of an empty file in many ways: 416 with or without a size, 204, 206 with `bytes 0--1/0`. */
const isWithoutBytes = ({ status, headers }: Exchange) =>
  status === 204 ||
  (status === 206 && headers['content-length'] === '0') ||
  ([206, 416].includes(status) && /\/0$/.test(headers['content-range'] ?? ''));
/** Some servers and proxies answer 200 although they send only the range. */
const isRange = ({ status, headers }: Exchange) => status === 206 || (status === 200 && 'content-range' in headers);
const isUnreadableRange = (exchange: Exchange) => isRange(exchange) && receivedRange(exchange) === undefined;
const isRangeAs200 = (exchange: Exchange) => exchange.status === 200 && (isRange(exchange) || hasRangeLength(exchange));
const hasRangeLength = ({ headers, range }: Exchange) =>
  range && Number(headers['content-length']) === range.to - range.from;
/** Some servers refuse every GET that has Range or If-Match. */
const isRefusedRange = ({ status, range }: Exchange) => range !== undefined && [405, 501].includes(status);
/** The answer to the first range may hold no byte or not all of the file, states the range in its own way, or refuses it. */
const isUnclearStart = (exchange: Exchange) =>
  exchange.range?.from === 0 &&
  exchange.etag === null &&
  ([400, 412, 416].includes(exchange.status) ||
    [isWithoutBytes, isUnreadableRange, isRangeAs200, isRefusedRange].some((is) => is(exchange)));

/** What an answer to the GET of the file means. The first matching row counts. */
const FILE_ANSWERS: readonly Row[] = [
  [isUnclearStart, 'ask whole'],
  [({ status, range }) => status === 200 && range !== undefined && range.from > 0, 'another range'],
  [(exchange) => exchange.range !== undefined && isUnreadableRange(exchange), 'another range'],
  [isRefusedRange, 'another range'],
  [(exchange) => exchange.range === undefined && isWithoutBytes(exchange), 'empty'],
  [isUnreadableRange, 'incomplete'],
  [({ status }) => status === 200 || status === 206, 'file'],
  [({ status }) => status === 412, 'changed'],
  [({ status, range }) => status === 416 && range !== undefined, 'changed'],
  [({ status }) => status === 429, 'rate-limited'],
  [({ status }) => status >= 500 || status === 408, 'source-unavailable'],
  [({ status }) => status < 400, 'incomplete'],
  // Stores refuse an expired link with 403, 410, 400, 401 or 404.
  [() => true, 'link-expired'],
];

/**
 * The bytes that Content-Range states, from `from` to before `to`, and the size `total` of the file. The bytes must begin
 * at the start of the requested range and not exceed it; without a range, they must be the whole file. Otherwise, or if
 * Content-Length differs, the result is `undefined`.
 */
export function receivedRange({ headers, range }: Pick<Exchange, 'headers' | 'range'>) {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(headers['content-range'] ?? '');
  if (!match) return undefined;
  const [from = 0, last = 0, total = 0] = match.slice(1).map(Number);
  const to = last + 1;
  const isPart = from === (range?.from ?? 0) && to > from && to <= Math.min(range?.to ?? total, total);
  const isWhole = Number(headers['content-length'] ?? to - from) === to - from;
  return isPart && isWhole && (range !== undefined || to === total) ? { from, to, total } : undefined;
}

export function meaningOfFile(exchange: Exchange): Meaning {
  return FILE_ANSWERS.find(([when]) => when(exchange))?.[1] ?? 'link-expired';
}
