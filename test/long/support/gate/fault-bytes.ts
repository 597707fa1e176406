import { gzipSync } from 'node:zlib';
import type { Draw } from '../../../../sandbox/data/draw.ts';
import { zipOfTexts } from '../../../support/zip.ts';
import { type Fault, ofPacked, ofText } from './fault.ts';

/** Faults that cut, damage or replace a file. */

const LAST_LINES = [
  'ERROR: canceling statement due to statement timeout',
  '{"error":"timeout"}',
  '<html>504',
  '<html><body><h1>502 Bad Gateway</h1></body></html>\n',
  'Total',
  '--- truncated ---\n',
];

const BODIES: [what: string, body: string | Uint8Array][] = [
  ['an empty file', ''],
  ['a web page', '<!doctype html><html><head><title>Sign in</title></head><body>Sign in, please</body></html>'],
  ['XML', '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>'],
  ['a status', '{"status":500}'],
  ['errors', '{"errors":[{"message":"timeout"}]}'],
  [
    'the status answer of the export',
    '{"id":"0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10","status":"PROCESSED","columns":["id","name"]}',
  ],
  ['an empty list', '[]'],
  [
    'records as JSON',
    JSON.stringify(
      Array.from({ length: 50 }, (_, row) => ({ id: `1d000000-0000-4000-8000-${String(row).padStart(12, '0')}` })),
    ),
  ],
  ['a line', 'Internal Server Error'],
  ['lines', 'Internal Server Error\nrequest id 17\n'],
  ['lines with commas', 'Sorry, something went wrong\nPlease, try again\n'],
  ['zeros', Buffer.alloc(3000)],
  ['a PDF document', '%PDF-1.7\n1 0 obj\n'],
  ['an Excel 97 spreadsheet', Buffer.from(`d0cf11e0a1b11ae1${'00'.repeat(600)}`, 'hex')],
  ['a document of Word', zipOfTexts({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<document/>' })],
  ['an archive of two files', zipOfTexts({ 'a.csv': 'id\n1\n', 'b.csv': 'id\n2\n' })],
  ['an archive of a web page', zipOfTexts({ 'leads.csv': '<!doctype html><title>504</title>' })],
];

const at = (bytes: Uint8Array, draw: Draw) => draw.int(1, Math.max(1, bytes.length - 1));
const cut = (bytes: Buffer, draw: Draw) => bytes.subarray(0, at(bytes, draw));

function flipped(bytes: Buffer, draw: Draw): Buffer {
  const other = Buffer.from(bytes);
  const place = at(bytes, draw);
  other[place] = (bytes[place] ?? 0) ^ (1 << draw.int(0, 7));
  return other;
}

const damages: Fault[] = (['gzip', 'zip'] as const).flatMap((compression): Fault[] => [
  ofPacked(`cut ${compression}`, { compression }, cut),
  ofPacked(`${compression} with a flipped bit`, { compression }, flipped),
  ofPacked(`${compression} without its last bytes`, { compression }, (bytes, draw) =>
    bytes.subarray(0, -draw.int(1, 12)),
  ),
  ofPacked(`${compression} followed by a text`, { compression }, (bytes) =>
    Buffer.concat([bytes, Buffer.from('ERROR: timeout\n')]),
  ),
]);

const texts: Fault[] = LAST_LINES.map((line, number) => ({
  name: `the text of an error as the last line (${number + 1})`,
  wish: { kind: 'csv', width: 2 },
  text: (text) => text + line,
}));

const bodies: Fault[] = BODIES.flatMap(([what, body]): Fault[] => [
  { name: `${what} instead of the file`, packed: () => Buffer.from(body) },
  { name: `${what} instead of the file, as gzip`, packed: () => gzipSync(body) },
]);

export const BYTE_FAULTS: Fault[] = [
  ...damages,
  ...texts,
  ...bodies,
  ofText('a cut text', { kind: 'csv', usual: true }, (text, draw) => text.slice(0, draw.int(1, text.length - 1))),
  ofText('a text cut near its end', { kind: 'csv', usual: true }, (text, draw) => text.slice(0, -draw.int(1, 60))),
  ofPacked('bytes cut near their end', { kind: 'csv', usual: true, compression: null }, (bytes, draw) =>
    bytes.subarray(0, -draw.int(1, 60)),
  ),
  ofPacked('a cut spreadsheet', { kind: 'xlsx', compression: null }, cut),
  ofPacked('a spreadsheet with a flipped bit', { kind: 'xlsx', compression: null }, flipped),
  ofPacked('gzip of gzip', { compression: 'gzip' }, (bytes) => gzipSync(bytes)),
];
