/** The message says of a spreadsheet why it cannot be read, without anything of its content. */
export class UnreadableSheet extends Error {
  override readonly name = 'UnreadableSheet';
}
