/** A file that cannot be read. The message gives the reason without quoting the file. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
