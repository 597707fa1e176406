import type { Entry } from 'yauzl';
import { localHeader, type ZipDirectory, ZipFault } from './zip-directory.ts';

export type ZipKind =
  | { kind: 'xlsx' }
  /** One file, and others that are no content: `besides` of them hold bytes. */
  | { kind: 'one'; entry: Entry; passedOver: number; besides: number }
  | { kind: 'archive' }
  /** In words. */
  | { kind: 'other'; looks: string };

/** Of a Mac and of Windows, beside a file that was packed by hand. */
const NO_CONTENT = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$|^__MACOSX\//i;
/** A directory that is listed has no bytes. */
const isFolder = ({ fileName, uncompressedSize }: Entry) => fileName.endsWith('/') && uncompressedSize === 0;

/** What an archive is, by the names in its directory. */
export function zipKind({ entries }: ZipDirectory): ZipKind {
  const names = new Set(entries.map(({ fileName }) => fileName.toLowerCase()));
  const begins = (folder: string) => [...names].some((name) => name.startsWith(folder));
  if (names.has('[content_types].xml')) {
    if (names.has('xl/workbook.xml')) return { kind: 'xlsx' };
    if (names.has('xl/workbook.bin')) return { kind: 'other', looks: 'a binary workbook of Excel (xlsb)' };
    if (begins('word/') || begins('ppt/')) return { kind: 'other', looks: 'a document of Word or PowerPoint' };
  }
  if (names.has('mimetype') && names.has('content.xml')) return { kind: 'other', looks: 'a document of OpenDocument' };
  const [content, others] = [entries.filter(isContent), entries.filter((entry) => !isContent(entry))];
  const [entry, second] = content;
  if (!entry) return { kind: 'other', looks: 'a zip archive without a file' };
  if (second) return { kind: 'archive' };
  const besides = others.filter(({ uncompressedSize }) => uncompressedSize > 0).length;
  return { kind: 'one', entry, passedOver: others.length, besides };
}

function isContent(entry: Entry): boolean {
  return !isFolder(entry) && !NO_CONTENT.test(entry.fileName);
}

/** Sizes of what stands in an archive beside names and data (APPNOTE.TXT, 4.3). */
const [ENTRY_BYTES, END_BYTES, END_OF_ZIP64_BYTES] = [46, 22, 76];
/** A bit of an entry: a data descriptor of 12 to 24 bytes follows it. */
const DESCRIBED_BEHIND = 8;
const [LEAST_DESCRIPTOR, LARGEST_DESCRIPTOR] = [12, 24];
const [STORED, DEFLATED] = [0, 8];

/**
 * Whether the directory tells all that is in the archive: programs that read from its beginning would find more.
 * @throws ZipFault where it does not, and where an entry cannot be read
 */
export async function refuseLies(directory: ZipDirectory): Promise<void> {
  const { zip, entries, bytes } = directory;
  let [told, slack] = [END_BYTES + Buffer.byteLength(zip.comment), END_OF_ZIP64_BYTES];
  for (const entry of entries) {
    if (entry.isEncrypted()) throw new ZipFault('that is encrypted');
    if (![STORED, DEFLATED].includes(entry.compressionMethod))
      throw new ZipFault('that is compressed in a way that is not read');
    const local = await localHeader(directory, entry);
    const same = entry.fileNameRaw.equals(local.fileName) && entry.compressionMethod === local.compressionMethod;
    if (!same) throw new ZipFault('whose directory does not tell what is in it');
    const listed = ENTRY_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    told += local.fileDataStart - entry.relativeOffsetOfLocalHeader + entry.compressedSize + listed;
    if (!(entry.generalPurposeBitFlag & DESCRIBED_BEHIND)) continue;
    told += LEAST_DESCRIPTOR;
    slack += LARGEST_DESCRIPTOR - LEAST_DESCRIPTOR;
  }
  const untold = bytes - told;
  if (untold < 0 || untold > slack) throw new ZipFault('whose directory does not tell what is in it');
}
