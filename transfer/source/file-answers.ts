import type { IncomingMessage } from 'node:http';
import type { TransferReason } from '../base/transfer-errors.ts';

/** The bytes from `from` up to, not including, `to` (`null` = the end). */
export interface Range {
  from: number;
  to: number | null;
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

/** Why an answer is not the file. */
export type Refusal = Extract<
  TransferReason,
  'changed' | 'rate-limited' | 'source-unavailable' | 'refused' | 'link-expired'
>;

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
  (status === 206 && (headers['content-length'] === '0' || /\/0$/.test(headers['content-range'] ?? '')));
const isOfUnknownTotal = ({ status, headers }: Exchange) =>
  status === 206 && /^bytes \d+-\d+\/\*$/.test(headers['content-range'] ?? '');
const isBeginning = ({ range, etag }: Exchange) => range?.from === 0 && etag === null;

/** What an answer to the GET of the file means. The first matching row counts. */
const FILE_ANSWERS: readonly Row[] = [
  { when: ({ status }) => status === 200, means: 'file' },
  { when: (exchange) => isWithoutBytes(exchange) && exchange.range === undefined, means: 'empty' },
  { when: (exchange) => isWithoutBytes(exchange) && isBeginning(exchange), means: 'ask whole' },
  // The answer to a range does not state the size of the file.
  { when: (exchange) => isOfUnknownTotal(exchange) && isBeginning(exchange), means: 'ask whole' },
  { when: ({ status }) => status === 206, means: 'file' },
  { when: ({ status }) => status === 412, means: 'changed' },
  { when: (exchange) => exchange.status === 416 && isBeginning(exchange), means: 'ask whole' },
  { when: ({ status, range }) => status === 416 && range !== undefined, means: 'changed' },
  { when: ({ status }) => status === 429, means: 'rate-limited' },
  { when: ({ status }) => status >= 500 || status === 408, means: 'source-unavailable' },
  { when: ({ status }) => status < 400 || status === 416, means: 'refused' },
  // Stores refuse an expired link with 403, 410, 400, 401 or 404.
  { when: () => true, means: 'link-expired' },
];

export function meaningOfFile(exchange: Exchange): Meaning {
  return FILE_ANSWERS.find(({ when }) => when(exchange))?.means ?? 'refused';
}
