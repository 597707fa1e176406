import { CSV } from '../../../../core/updates/read-csv.ts';
import type { UpdateEntry, UpdateFormat } from '../../../../core/updates/read-updates.ts';
import { JSONL, readUpdates } from '../../../../core/updates/read-updates.ts';

export const idOf = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

export async function* bytesOf(content: string | Uint8Array, size = 70_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const READERS = { csv: CSV, jsonl: JSONL };

export async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function entriesOf(
  format: UpdateFormat,
  content: string | Uint8Array,
  rules: { allowNull?: boolean } = {},
): Promise<UpdateEntry[]> {
  return allOf(readUpdates(READERS[format], bytesOf(content), rules));
}

export async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await allOf(bytes)).toString();
}

/** The problems among entries, one on each line, as `update` prints them. */
export function problemsText(entries: Awaited<ReturnType<typeof entriesOf>>): string {
  return entries
    .flatMap((entry) =>
      'sentence' in entry ? [`${[entry.line, entry.field].filter(Boolean).join(' ')}: ${entry.sentence}`] : [],
    )
    .join('\n');
}
