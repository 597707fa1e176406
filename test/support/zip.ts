/** What a zip archive ends with, and all of one without a file (APPNOTE.TXT, 4.3.16). */
export const END_OF_ZIP = Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex');

/** A zip archive so far as it is looked into: empty entries of these names, and the end of its directory. */
export function zipOf(...names: string[]): Buffer {
  const entries = names.map((name) => {
    const header = Buffer.alloc(30);
    header.write('PK\x03\x04\x14', 'latin1');
    header.writeUInt16LE(name.length, 26);
    return Buffer.concat([header, Buffer.from(name)]);
  });
  return Buffer.concat([...entries, END_OF_ZIP]);
}
