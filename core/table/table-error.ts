/** Why no table can be made of a file. The message is a sentence without a value of a record. */
export class TableError extends Error {
  override readonly name = 'TableError';
}
