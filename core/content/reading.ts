import { RunError } from '../errors.ts';
import { type Expected, rejection } from '../files/judge-file.ts';
import type { Facts } from '../gate/facts.ts';
import { UnreadableSheet } from '../spreadsheet/unreadable-sheet.ts';
import { type ReadingLimits, ReadingUnfinished } from '../zip/reading-limits.ts';
import { UnreadableZip } from '../zip/zip-archive.ts';
import { freeDisk } from './free-disk.ts';

/** What is known of a stored file, and what a reader of it should know, in sentences. */
export interface Known {
  facts: Facts;
  remarks: string[];
}

/** How one file is read. */
export interface Reading {
  expected: Expected;
  /** What the file is called in messages: `The file at runs/…`. */
  what: string;
  /** The declared media type; '' = none was declared. */
  contentType: string;
  /** The most bytes that the content may have, unpacked (`files.maxBytes`). */
  maxBytes: number;
  /** Seconds until reading has to end. */
  secondsLeft: () => number;
  /** The closing of the connection alone marked the end of the file: its shape has to prove it whole. */
  undeclaredEnd: boolean;
}

/** The file is not what was requested. @param looks in words, without anything of its content */
export function refused({ what, contentType, expected }: Reading, looks: string): RunError {
  return new RunError('FileRejected', rejection(what, looks, contentType, expected.formats));
}

export function isRefusal(error: unknown): boolean {
  return error instanceof RunError && error.name === 'FileRejected';
}

/** The file is of the right kind, and damaged. @param how `is cut off` */
export function damaged({ what }: Reading, how: string): RunError {
  return new RunError('FileRejected', `${what} ${how}: what came is not whole.`);
}

function unfinished({ what }: Reading, why: string): RunError {
  return new RunError('CheckUnfinished', `${what} was not read to its end: ${why}.`);
}

/**
 * The content, as far as it may be read.
 * @throws RunError `CheckUnfinished` when time is over; `DownloadTooLarge` when there is more content than a file may have
 */
export async function* bounded(chunks: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > reading.maxBytes) {
      const most = `${reading.maxBytes} bytes of content, the most that files.maxBytes allows`;
      throw new RunError('DownloadTooLarge', `${reading.what} unpacks to more than ${most}.`);
    }
    inTime(reading, bytes);
    yield chunk;
  }
}

/** @throws RunError `CheckUnfinished` when time is over */
function inTime(reading: Reading, bytes: number): void {
  if (reading.secondsLeft() > 0) return;
  throw unfinished(reading, `one invocation has time for ${Math.floor(bytes / 1e6)} MB of its content`);
}

/** Limits for archives and spreadsheets: the disk is that of the function. */
export async function limitsOf({ maxBytes, secondsLeft }: Reading): Promise<ReadingLimits> {
  return { contentBytes: maxBytes, diskBytes: await freeDisk(), secondsLeft };
}

/** @throws RunError `FileRejected` for what archives and spreadsheets are refused for, `CheckUnfinished` for what is too much */
export async function withinLimits<T>(reading: Reading, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableZip || error instanceof UnreadableSheet)
      throw new RunError('FileRejected', `${reading.what} ${error.message}.`);
    throw error instanceof ReadingUnfinished ? unfinished(reading, `it ${error.message}`) : error;
  }
}
