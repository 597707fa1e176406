import type { Value } from '../table/column-types.ts';
import type { TableColumn } from './table-reader.ts';

/** A value as the table's file has it: texts as UTF-8. */
export type Stored = Uint8Array | bigint | number | boolean | null | undefined;

const NONE = 0xffffffff;
const HEAD_BYTES = 4;
const NUMBER_BYTES = 8;

/** A value of the table's file as a writer takes it. */
export function storedValue(value: Stored): Value {
  if (value === null || value === undefined) return null;
  return typeof value === 'object' ? Buffer.from(value.buffer, value.byteOffset, value.length).toString() : value;
}

/** Writes rows one behind the other; equal values have equal bytes, and different ones different bytes. */
export class RowBytes {
  #bytes = Buffer.allocUnsafe(1 << 16);
  length = 0;

  /** What was written, which the next row overwrites, and room behind it. */
  get view(): Buffer {
    return this.#bytes;
  }

  clear(): void {
    this.length = 0;
  }

  /** @param at where a number was left out */
  setHead(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value, at);
  }

  head(value: number): void {
    this.#grow(HEAD_BYTES);
    this.#bytes.writeUInt32LE(value, this.length);
    this.length += HEAD_BYTES;
  }

  /** @returns whether there is a value, and no empty text */
  value(value: Stored): boolean {
    if (value === null || value === undefined) {
      this.head(NONE);
      return false;
    }
    if (typeof value === 'object') this.#text(value);
    else this.#number(value);
    return typeof value !== 'object' || value.length > 0;
  }

  #text(text: Uint8Array): void {
    const { length } = text;
    this.head(length);
    this.#grow(length);
    const bytes = this.#bytes;
    const at = this.length;
    // For short ones the call of `set` costs more than the bytes.
    if (length > 24) bytes.set(text, at);
    else for (let place = 0; place < length; place += 1) bytes[at + place] = text[place] as number;
    this.length += length;
  }

  #number(value: bigint | number | boolean): void {
    this.head(NUMBER_BYTES);
    this.#grow(NUMBER_BYTES);
    if (typeof value === 'bigint') this.#bytes.writeBigInt64LE(value, this.length);
    // Both zeros are one value.
    else this.#bytes.writeDoubleLE(Number(value) + 0, this.length);
    this.length += NUMBER_BYTES;
  }

  #grow(by: number): void {
    if (this.length + by <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.length + by));
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }
}

const READ: Record<string, (bytes: Buffer, at: number) => Value> = {
  INT64: (bytes, at) => bytes.readBigInt64LE(at),
  BOOLEAN: (bytes, at) => bytes.readDoubleLE(at) === 1,
};
const readNumber = (bytes: Buffer, at: number): Value => bytes.readDoubleLE(at);

/**
 * The values of these columns, as they were written from there on.
 * @returns where the next begin
 */
export function readValues(
  bytes: Buffer,
  start: number,
  columns: readonly Pick<TableColumn, 'type'>[],
  into: Value[],
): number {
  let at = start;
  for (const { type } of columns) {
    const length = bytes.readUInt32LE(at);
    at += HEAD_BYTES;
    if (length === NONE) into.push(null);
    else {
      into.push(
        type === 'BYTE_ARRAY' ? bytes.toString('utf8', at, at + length) : (READ[type ?? ''] ?? readNumber)(bytes, at),
      );
      at += length;
    }
  }
  return at;
}
