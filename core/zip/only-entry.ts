import { UnreadableZip, type ZipArchive, type ZipEntry } from './zip-archive.ts';

/** The one file of an archive. @throws UnreadableZip where it has none, or several */
export function onlyEntry({ entries }: ZipArchive): ZipEntry {
  const [entry] = entries;
  if (!entry || entries.length > 1) throw new UnreadableZip(`has ${entries.length} files instead of one`);
  return entry;
}
