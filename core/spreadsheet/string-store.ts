import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PAGE_BYTES = 16 * 1024;
/** 16 MiB stay in memory: neighbours of a text are asked for next. */
const MOST_PAGES = 1024;
/** Texts that come again and again, such as those of a status, are decoded once. */
const RECENT = 4096;
const LONGEST_RECENT = 64;
/** Where texts begin stands in parts of so many. */
const PART = 65_536;

/**
 * Texts by their numbers, as bytes: a part of a larger text would keep all of that in memory. Where they are many, they lie in a
 * file of the temporary folder, which `close` removes; a million of them then need 4 MB beside the pages in memory.
 */
export class StringStore {
  count = 0;
  /** Bytes of all texts. */
  bytes = 0;
  private readonly starts: Uint32Array[] = [];
  /** Pages of texts by their place; where there is a file, those that were read first leave first. */
  private readonly pages = new Map<number, Buffer>();
  private newest: Buffer = Buffer.alloc(PAGE_BYTES);
  private file: { folder: string; descriptor: number } | undefined;
  private readonly recentNumbers = new Int32Array(RECENT).fill(-1);
  private readonly recentTexts: string[] = new Array(RECENT).fill('');

  constructor() {
    this.place(0, 0);
  }

  add(text: string): void {
    const at = this.bytes % PAGE_BYTES;
    // Three bytes are the most that a unit of a text can need.
    if (text.length * 3 <= PAGE_BYTES - at - 1) this.bytes += this.newest.write(text, at);
    else this.append(Buffer.from(text));
    this.count += 1;
    this.place(this.count, this.bytes);
  }

  /** @param number below `count` */
  get(number: number): string {
    const slot = number % RECENT;
    if (this.recentNumbers[slot] === number) return this.recentTexts[slot] ?? '';
    const text = this.read(this.startOf(number), this.startOf(number + 1));
    if (text.length <= LONGEST_RECENT) {
      this.recentNumbers[slot] = number;
      this.recentTexts[slot] = text;
    }
    return text;
  }

  close(): void {
    if (!this.file) return;
    closeSync(this.file.descriptor);
    rmSync(this.file.folder, { recursive: true, force: true });
    this.file = undefined;
  }

  private append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const at = this.bytes % PAGE_BYTES;
      const piece = bytes.subarray(from, from + PAGE_BYTES - at);
      this.newest.set(piece, at);
      from += piece.length;
      this.bytes += piece.length;
      if (this.bytes % PAGE_BYTES === 0) this.turnPage();
    }
  }

  /** Begins a new page when the newest one is full. */
  private turnPage(): void {
    const place = this.bytes / PAGE_BYTES - 1;
    if (!this.file && this.pages.size >= MOST_PAGES) this.file = this.fileOf([...this.pages.values()]);
    if (this.file) writeAll(this.file.descriptor, this.newest);
    this.newest = this.keep(place, this.newest);
  }

  private fileOf(pages: Buffer[]): { folder: string; descriptor: number } {
    const folder = mkdtempSync(join(tmpdir(), 'sheet-'));
    const descriptor = openSync(join(folder, 'texts'), 'w+');
    for (const page of pages) writeAll(descriptor, page);
    return { folder, descriptor };
  }

  /** @returns a page that is free */
  private keep(place: number, page: Buffer): Buffer {
    const oldest = this.pages.size >= MOST_PAGES ? this.pages.entries().next().value : undefined;
    if (oldest) this.pages.delete(oldest[0]);
    this.pages.set(place, page);
    return oldest?.[1] ?? Buffer.alloc(PAGE_BYTES);
  }

  private place(number: number, start: number): void {
    const part = Math.floor(number / PART);
    this.starts[part] ??= new Uint32Array(PART);
    this.starts[part][number % PART] = start;
  }

  private startOf(number: number): number {
    return this.starts[Math.floor(number / PART)]?.[number % PART] ?? 0;
  }

  private read(from: number, to: number): string {
    const first = Math.floor(from / PAGE_BYTES);
    const last = Math.floor(Math.max(from, to - 1) / PAGE_BYTES);
    if (first === last) {
      return this.page(first).toString('utf8', from - first * PAGE_BYTES, to - first * PAGE_BYTES);
    }
    const bytes = Buffer.alloc(to - from);
    for (let place = first; place <= last; place += 1) {
      const start = place * PAGE_BYTES;
      const piece = this.page(place).subarray(Math.max(0, from - start), to - start);
      bytes.set(piece, Math.max(start, from) - from);
    }
    return bytes.toString();
  }

  private page(place: number): Buffer {
    const known = this.pages.get(place);
    if (known) return known;
    if (place === Math.floor(this.bytes / PAGE_BYTES)) return this.newest;
    if (!this.file) throw new Error('the texts are closed');
    const page = Buffer.alloc(PAGE_BYTES);
    readSync(this.file.descriptor, page, 0, PAGE_BYTES, place * PAGE_BYTES);
    this.keep(place, page);
    return page;
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}
