import { crc32 } from 'node:zlib';

/** 400 MB of fingerprints. */
export const MOST_CELLS = 100_000_000;
const ROWS_IN_A_BLOCK = 4096;

/** Four bytes for each cell of a row: of two texts that differ, one pair in four billion is taken for equal. */
export class Fingerprints {
  private readonly blocks: Uint32Array[] = [];
  private rows = 0;
  private width = 0;

  get cells(): number {
    return this.rows * this.width;
  }

  /** All rows have as many cells as the first. @returns the number of the row */
  add(cells: string[]): number {
    const row = this.rows;
    this.rows += 1;
    this.width = cells.length;
    const { block, at } = this.place(row);
    for (const [column, cell] of cells.entries()) block[at + column] = crc32(cell);
    return row;
  }

  /** The columns in which a row differs from these cells. */
  differing(row: number, cells: string[]): number[] {
    const { block, at } = this.place(row);
    return cells.flatMap((cell, column) => (block[at + column] === crc32(cell) ? [] : [column]));
  }

  private place(row: number): { block: Uint32Array; at: number } {
    const number = Math.floor(row / ROWS_IN_A_BLOCK);
    this.blocks[number] ??= new Uint32Array(ROWS_IN_A_BLOCK * this.width);
    return { block: this.blocks[number], at: (row % ROWS_IN_A_BLOCK) * this.width };
  }
}
