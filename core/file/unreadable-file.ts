import type { WrongPart } from '../errors.ts';

/** A file that cannot be read. The message gives the reason without quoting the file. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
  readonly part: WrongPart | undefined;

  constructor(message: string, part?: WrongPart) {
    super(message);
    this.part = part;
  }
}
