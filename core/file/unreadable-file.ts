/** The message says of a file why it cannot be read, without anything of its content. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
