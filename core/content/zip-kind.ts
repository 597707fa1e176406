import type { ZipArchive, ZipEntry } from '../zip/zip-archive.ts';

export type ZipKind =
  | { kind: 'xlsx' }
  /** One file, and others that are no content: `besides` of them hold bytes. */
  | { kind: 'one'; entry: ZipEntry; passedOver: number; besides: number }
  | { kind: 'several' }
  /** `looks` says in words what the archive holds. */
  | { kind: 'other'; looks: string };

/** Notes of a Mac and of Windows, beside a file that was packed by hand. */
const NO_CONTENT = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$|^__MACOSX\//i;

/** What an archive is, by the names in its directory. */
export function zipKind({ entries }: Pick<ZipArchive, 'entries'>): ZipKind {
  const names = entries.map(({ name }) => name.toLowerCase());
  const begins = (folder: string) => names.some((name) => name.startsWith(folder));
  if (names.includes('[content_types].xml')) {
    if (names.includes('xl/workbook.xml')) return { kind: 'xlsx' };
    if (names.includes('xl/workbook.bin')) return { kind: 'other', looks: 'a binary workbook of Excel (xlsb)' };
    if (begins('word/') || begins('ppt/')) return { kind: 'other', looks: 'a document of Word or PowerPoint' };
  }
  if (names.includes('mimetype') && names.includes('content.xml'))
    return { kind: 'other', looks: 'a document of OpenDocument' };
  const content = entries.filter(isContent);
  const others = entries.filter((entry) => !isContent(entry));
  const [entry, second] = content;
  if (!entry) return { kind: 'other', looks: 'a zip archive without a file' };
  if (second) return { kind: 'several' };
  return { kind: 'one', entry, passedOver: others.length, besides: others.filter(({ size }) => size > 0).length };
}

function isContent({ name }: ZipEntry): boolean {
  return !NO_CONTENT.test(name);
}
