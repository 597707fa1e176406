import { mainType, partName } from '../spreadsheet/workbook.ts';
import type { ZipArchive, ZipEntry } from '../zip/zip-archive.ts';

export type ZipKind =
  /** A package of parts of an office program: its main part says what it is. */
  | { kind: 'package' }
  /** One file, and others that are no content: `besides` of them hold bytes. */
  | { kind: 'one'; entry: ZipEntry; passedOver: number; besides: number }
  | { kind: 'several' }
  /** `looks` says in words what the archive holds. */
  | { kind: 'other'; looks: string };

/** Notes of a Mac and of Windows, beside a file that was packed by hand. */
const NO_CONTENT = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$|^\/?__MACOSX\//i;

/** What an archive is, by the names in its directory. */
export function zipKind({ entries }: Pick<ZipArchive, 'entries'>): ZipKind {
  const names = entries.map(({ name }) => partName(name).toLowerCase());
  if (names.includes('[content_types].xml')) return { kind: 'package' };
  if (names.includes('mimetype') && names.includes('content.xml'))
    return { kind: 'other', looks: 'a document of OpenDocument' };
  const content = entries.filter(({ name }) => !NO_CONTENT.test(name));
  const others = entries.filter(({ name }) => NO_CONTENT.test(name));
  const [entry, second] = content;
  if (!entry) return { kind: 'other', looks: 'a zip archive without a file' };
  if (second) return { kind: 'several' };
  return { kind: 'one', entry, passedOver: others.length, besides: others.filter(({ size }) => size > 0).length };
}

/** What the main parts of other documents are, by a part of their type. */
const DOCUMENTS: [type: RegExp, looks: string][] = [
  [/sheet\.binary/, 'a binary workbook of Excel (xlsb)'],
  [/wordprocessingml|presentationml|ms-word|ms-powerpoint/, 'a document of Word or PowerPoint'],
];

/** What a package holds. @throws what reading its parts throws */
export async function packageKind(archive: ZipArchive): Promise<{ kind: 'xlsx' } | ZipKind> {
  const type = await mainType(archive);
  const looks = DOCUMENTS.find(([known]) => known.test(type ?? ''))?.[1];
  if (looks !== undefined) return { kind: 'other', looks };
  // A main part without a type of its own may be that of a workbook: reading it shows what it is.
  return { kind: type !== undefined && /spreadsheetml|ms-excel|^$|\bxml$/.test(type) ? 'xlsx' : 'several' };
}
