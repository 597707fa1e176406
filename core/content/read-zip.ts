import type { ByteSource } from '../files/byte-source.ts';
import { countText } from '../gate/texts.ts';
import { isKnownName } from '../spreadsheet/allowed-text.ts';
import { putAside } from '../zip/put-aside.ts';
import { ReadingBudget } from '../zip/reading-limits.ts';
import { openZip, UnreadableZip, type ZipArchive } from '../zip/zip-archive.ts';
import { readSheet } from './read-sheet.ts';
import { type Begun, begin, type Content, readStream, unjudged } from './read-stream.ts';
import { bounded, isRefusal, limitsOf, type Reading, refused, withinLimits } from './reading.ts';
import { packageKind, type ZipKind, zipKind } from './zip-kind.ts';

/** What a zip archive holds. */
export interface ZipContent {
  content: Content;
  /** It is the content of the only file in it. */
  packed: boolean;
}

const PACKED = ', packed in a zip archive';

/**
 * Reads a spreadsheet, or a zip archive with exactly one CSV file or spreadsheet in it; any other is published unjudged where the
 * configuration says so.
 * @throws RunError `FileRejected` for what is none of these, damaged, encrypted or has a directory that lies
 */
export function readZip(source: ByteSource, reading: Reading): Promise<ZipContent> {
  return withinLimits(reading, async () => {
    const archive = await opened(source, reading);
    const kind = await kindOf(archive);
    if (kind.kind === 'other') throw refused(reading, kind.looks);
    if (kind.kind === 'xlsx') return { content: await readSheet(source, reading), packed: false };
    if (kind.kind === 'one') return readOnly(archive, kind, reading);
    return { content: several(reading), packed: false };
  });
}

async function opened(source: ByteSource, reading: Reading): Promise<ZipArchive> {
  // What is in it is counted where it is read.
  const limits = { ...(await limitsOf(reading)), contentBytes: Number.MAX_SAFE_INTEGER };
  return openZip(source, new ReadingBudget(limits));
}

async function kindOf(archive: ZipArchive) {
  const kind = zipKind(archive);
  return kind.kind === 'package' ? packageKind(archive) : kind;
}

/** An archive of several files, or of one that is neither CSV nor a spreadsheet. */
function several(reading: Reading): Content {
  if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
  throw refused(reading, 'a zip archive of several files');
}

/** The only file of an archive. */
async function readOnly(
  archive: ZipArchive,
  one: Extract<ZipKind, { kind: 'one' }>,
  reading: Reading,
): Promise<ZipContent> {
  // What it holds is judged as an archive, where it is neither CSV nor a spreadsheet.
  const inside = { ...reading, expected: { ...reading.expected, opaque: [] } };
  const begun = await begin(bounded(archive.read(one.entry), reading), inside, PACKED).catch((error: unknown) => {
    if (reading.expected.opaque.includes('archive') && isRefusal(error)) return null;
    throw error;
  });
  if (!begun) return { content: several(reading), packed: false };
  const content = await readBegun(begun, inside, PACKED);
  await archive.verify();
  // Programs that read an archive from its beginning would find more.
  if (archive.unlisted() > 0) throw new UnreadableZip('has a directory that does not tell all that is in it');
  return { content: withArchive(content, archive, one), packed: true };
}

/** Reads what is packed in gzip or a zip archive to its end; a spreadsheet has to be unpacked to the disk for that. */
export function readBegun({ judged, chunks }: Begun, reading: Reading, packed: string): Promise<Content> {
  if (judged.result !== 'zip') return readStream({ judged, chunks }, reading);
  return withinLimits(reading, async () => {
    const { source, close } = await putAside(chunks, new ReadingBudget(await limitsOf(reading)));
    try {
      const kind = await kindOf(await opened(source, reading));
      if (kind.kind === 'xlsx') return await readSheet(source, reading);
      if (kind.kind === 'other') throw refused(reading, `${kind.looks}${packed}`);
      if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
      throw refused(reading, `a zip archive${packed}`);
    } finally {
      await close();
    }
  });
}

/** Adds what the archive holds besides the content of its file. */
function withArchive(
  { content, remarks, ...others }: Content,
  archive: ZipArchive,
  { entry, passedOver, besides }: Extract<ZipKind, { kind: 'one' }>,
): Content {
  const elsewhere = [
    ...new Array<string>(besides).fill('other files in the archive'),
    ...(isKnownName(entry.name) ? [] : ['the name of the file in the archive']),
    ...(archive.texts() > 0 ? ['comments or extra fields of the archive'] : []),
  ];
  const kinds = content && [...new Set([...content.elsewhereKinds, ...elsewhere])].toSorted();
  const entries = countText(passedOver, 'other entry', 'other entries');
  const remark = `The archive holds ${entries} beside the file, notes of an operating system: passed over.`;
  return {
    ...others,
    content: content && { ...content, elsewhere: content.elsewhere + elsewhere.length, elsewhereKinds: kinds ?? [] },
    remarks: passedOver === 0 ? remarks : [...remarks, remark],
  };
}
