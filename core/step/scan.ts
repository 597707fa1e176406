import * as z from 'zod/mini';

/** Progress of PublishFile in the stored object. From `records` on, the state of the CSV grammar (`core/files/csv-scan.ts`). */
export const scanSchema = z.looseObject({
  /** A scan of another version is not continued. */
  version: z.int(),
  etag: z._default(z.nullable(z.string()), null),
  /** Invocations in which reading broke off. */
  handedOn: z._default(z.int(), 0),
  offset: z._default(z.int(), 0),
  crc32: z._default(z.int(), 0),
  /** Records so far, the header among them. */
  records: z._default(z.int(), 0),
  /** Records with another number of fields than the first. */
  irregular: z._default(z.int(), 0),
  /** Fields of the first record; 0 before its end. */
  width: z._default(z.int(), 0),
  /** Fields of the current record, the one being read included. */
  fields: z._default(z.int(), 1),
  quoted: z._default(z.boolean(), false),
  /** A quotation mark here would open a quoted part. */
  opens: z._default(z.boolean(), true),
  /** No character of the current record yet, carriage returns aside. */
  blank: z._default(z.boolean(), true),
  /** The last byte was a carriage return. */
  afterCr: z._default(z.boolean(), false),
  /** The mark that ends a text of DOS was read where a record would begin. */
  afterEndMark: z._default(z.boolean(), false),
  /** Empty lines behind the first record. */
  blankLines: z._default(z.int(), 0),
  /** Which line breaks ended records, as bits. */
  lineBreaks: z._default(z.int(), 0),
  /** Fields of the last record. */
  last: z._default(z.int(), 0),
  /** Records with more fields than the first. */
  longer: z._default(z.int(), 0),
  /** Records without a character in any field. */
  emptyRows: z._default(z.int(), 0),
  /** A field of the current record has a character. */
  filled: z._default(z.boolean(), false),
  /** The closing mark of a quoted part came last. */
  closed: z._default(z.boolean(), false),
  /** Quotation marks that open nothing, or close a part that text follows. */
  strayQuotes: z._default(z.int(), 0),
  /** How much of the first record the current one repeats (`core/files/csv-repeats.ts`); -1: it differs. */
  repeats: z._default(z.int(), 0),
  /** Records that repeat the first one. */
  repeatedHeaders: z._default(z.int(), 0),
  /** Columns without a name that have values: their places, with hyphens between them. */
  valued: z._default(z.string(), ''),
  /** Places that readers of CSV interpret differently. */
  doubts: z._default(z.int(), 0),
  /** Marks of the end of a text of DOS where a record would begin, and the records before one that ends nothing; -1: none. */
  endMarks: z._default(z.int(), 0),
  markedAt: z._default(z.int(), -1),
  /** How many more records there are in the other reading of doubtful line breaks (`core/files/csv-twin.ts`), and its state. */
  extra: z._default(z.int(), 0),
  forked: z._default(z.boolean(), false),
  twinQuoted: z._default(z.boolean(), false),
  twinOpens: z._default(z.boolean(), false),
  twinBlank: z._default(z.boolean(), false),
  twinAfterCr: z._default(z.boolean(), false),
  twinFields: z._default(z.int(), 0),
  twinLonger: z._default(z.int(), 0),
  /** All bytes are ASCII. */
  ascii: z._default(z.boolean(), true),
  /** Some characters have the code 0. */
  zeros: z._default(z.boolean(), false),
  encoding: z._default(z.enum(['utf-8', 'windows-1255', 'unknown']), 'utf-8'),
  /** Bytes that are still to come of the current UTF-8 character. */
  continuation: z._default(z.int(), 0),
  /** The first byte of that character where it is all that was read and not every byte may follow it, else 0. */
  lead: z._default(z.int(), 0),
  /** See `core/files/hebrew.ts`. */
  mayBeHebrew: z._default(z.boolean(), true),
  highBytes: z._default(z.int(), 0),
  joinedLetters: z._default(z.int(), 0),
  before: z._default(z.int(), 0),
});
export type Scan = z.infer<typeof scanSchema>;
export const NOTHING_SCANNED = scanSchema.parse({ version: 4 });
