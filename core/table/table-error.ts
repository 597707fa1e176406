/** A file cannot become a table. The message gives the reason in a sentence without any value of a record. */
export class TableError extends Error {
  override readonly name = 'TableError';
}
