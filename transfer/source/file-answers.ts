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
 * file, so a GET without Range decides.
 */
type Meaning = 'file' | 'empty' | 'ask whole' | Refusal;

interface Row {
  when: (exchange: Exchange) => boolean;
  means: Meaning;
}

/** Servers answer a range of an empty file in many ways: 416 with or without a size, 204, 206 with `bytes 0--1/0`. */
const isWithoutBytes = ({ status, headers }: Exchange) =>
  status === 204 ||
  (status === 206 && headers['content-length'] === '0') ||
  ([206, 416].includes(status) && /\/0$/.test(headers['content-range'] ?? ''));
const isUnreadableRange = ({ status, headers, range }: Exchange) =>
  status === 206 && receivedRange(headers, range) === undefined;
const isBeginning = ({ range, etag }: Exchange) => range?.from === 0 && etag === null;

/** What an answer to the GET of the file means. The first matching row counts. */
const FILE_ANSWERS: readonly Row[] = [
  { when: ({ status, range }) => status === 200 && range !== undefined && range.from > 0, means: 'another range' },
  { when: ({ status }) => status === 200, means: 'file' },
  { when: (exchange) => isWithoutBytes(exchange) && exchange.range === undefined, means: 'empty' },
  { when: (exchange) => isWithoutBytes(exchange) && isBeginning(exchange), means: 'ask whole' },
  // Some servers state no size of the file, or write Content-Range in their own way.
  { when: (exchange) => isUnreadableRange(exchange) && isBeginning(exchange), means: 'ask whole' },
  { when: isUnreadableRange, means: 'another range' },
  { when: ({ status }) => status === 206, means: 'file' },
  { when: ({ status }) => status === 412, means: 'changed' },
  { when: (exchange) => exchange.status === 416 && isBeginning(exchange), means: 'ask whole' },
  { when: ({ status, range }) => status === 416 && range !== undefined, means: 'changed' },
  { when: ({ status }) => status === 429, means: 'rate-limited' },
  { when: ({ status }) => status >= 500 || status === 408, means: 'source-unavailable' },
  { when: ({ status }) => status < 400, means: 'incomplete' },
  // Stores refuse an expired link with 403, 410, 400, 401 or 404.
  { when: () => true, means: 'link-expired' },
];

/**
 * The bytes that Content-Range states, from `from` to before `to`, and the size `total` of the file. The bytes must begin
 * at the start of the requested range and not exceed it; without a range, they must be the whole file. Otherwise, or if
 * Content-Length differs, the result is `undefined`.
 */
export function receivedRange(headers: IncomingMessage['headers'], range: Range | undefined) {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(headers['content-range'] ?? '');
  if (!match) return undefined;
  const [from = 0, last = 0, total = 0] = match.slice(1).map(Number);
  const to = last + 1;
  const isPart = from === (range?.from ?? 0) && to > from && to <= Math.min(range?.to ?? total, total);
  const isWhole = Number(headers['content-length'] ?? to - from) === to - from;
  return isPart && isWhole && (range !== undefined || to === total) ? { from, to, total } : undefined;
}

export function meaningOfFile(exchange: Exchange): Meaning {
  return FILE_ANSWERS.find(({ when }) => when(exchange))?.means ?? 'link-expired';
}
