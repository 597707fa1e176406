import { posix } from 'node:path';
import type { ZipArchive, ZipEntry } from '../zip/zip-archive.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { type Attributes, readXml, type XmlHandler } from './xml.ts';

/** A package of parts that refer to each other (ECMA-376, part 2). Names are without the slash before them. */
export interface Parts {
  names: string[];
  /** The media type of a part in small letters; '' = none. */
  typeOf(part: string): string;
  has(part: string): boolean;
  /** @throws UnreadableSheet where there is no such part; what reading its bytes throws */
  read(part: string): AsyncGenerator<Uint8Array>;
  /** What the part refers to. '' is the package. */
  relationships(part: string): Promise<Relationship[]>;
}

interface Relationship {
  id: string;
  /** The last word of its address, which is the same in all editions of the standard: `worksheet`. */
  type: string;
  part: string;
}

/** A workbook of ten thousand sheets has as many. */
const MOST_RELATIONSHIPS = 100_000;

export async function partsOf(archive: ZipArchive): Promise<Parts> {
  // Names are equal whatever the case of their letters.
  const entries = new Map<string, ZipEntry>(archive.entries.map((entry) => [entry.name.toLowerCase(), entry]));
  const read = (part: string) => {
    const entry = entries.get(part.toLowerCase());
    if (!entry) throw new UnreadableSheet('refers to a part that it does not have');
    return archive.read(entry);
  };
  const typeOf = await readTypes(read);
  return {
    names: archive.entries.map(({ name }) => name),
    typeOf,
    has: (part) => entries.has(part.toLowerCase()),
    read,
    relationships: async (part) => {
      const folder = posix.dirname(part);
      const base = posix.basename(part);
      const name = posix.join(folder, '_rels', `${base}.rels`);
      return entries.has(name.toLowerCase()) ? readRelationships(folder, read(name)) : [];
    },
  };
}

async function readTypes(read: Parts['read']): Promise<Parts['typeOf']> {
  const byPart = new Map<string, string>();
  const byEnding = new Map<string, string>();
  await readXml(read('[Content_Types].xml'), {
    open: (name, depth, { PartName = '', Extension = '', ContentType = '' }) => {
      if (depth !== 2) return;
      const type = ContentType.toLowerCase();
      if (name === 'Override') byPart.set(PartName.replace(/^\//, '').toLowerCase(), type);
      if (name === 'Default') byEnding.set(Extension.toLowerCase(), type);
      if (byPart.size + byEnding.size > MOST_RELATIONSHIPS) throw new UnreadableSheet('has too many types of parts');
    },
  });
  return (part) => {
    const name = part.toLowerCase();
    return byPart.get(name) ?? byEnding.get(name.slice(name.lastIndexOf('.') + 1)) ?? '';
  };
}

async function readRelationships(folder: string, chunks: AsyncIterable<Uint8Array>): Promise<Relationship[]> {
  const found: Relationship[] = [];
  await readXml(
    chunks,
    relationshipsHandler(folder, (relationship) => found.push(relationship)),
  );
  return found;
}

function relationshipsHandler(folder: string, add: (relationship: Relationship) => number): XmlHandler {
  return {
    open: (name, depth, { Id = '', Type = '', Target = '', TargetMode = 'Internal' }: Attributes) => {
      if (depth !== 2 || name !== 'Relationship' || TargetMode === 'External') return;
      const type = Type.slice(Type.lastIndexOf('/') + 1);
      const count = add({ id: Id, type, part: partAt(folder, Target) });
      if (count > MOST_RELATIONSHIPS) throw new UnreadableSheet('has a part that refers to too many others');
    },
  };
}

/** A target counts from the folder of the part that refers to it, or from the package. */
function partAt(folder: string, target: string): string {
  const path = target.startsWith('/') ? target : posix.join('/', folder, target);
  return posix.normalize(plainPath(path)).replace(/^\/+/, '');
}

function plainPath(path: string): string {
  try {
    return decodeURIComponent(path).replaceAll('\\', '/');
  } catch {
    return path;
  }
}
